//===- Entail.cpp - Which equations rules entail --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator drops equations by what it has found so far, and by rewriting.
// Here the prover alone is asked about all of them, as they are met, with
// nothing but the rules.
//
//===----------------------------------------------------------------------===//

#include "divisi/Generate/Generate.h"
#include "divisi/Prove/Check.h"
#include "lib/Generate/Generalizer.h"
#include "lib/Generate/Keeper.h"
#include "lib/Generate/SeenEquations.h"
#include "lib/Generate/Summary.h"

using namespace divisi;
using namespace divisi::rewrite;

/// Of Z3's work for the question whether an equation is among those that are
/// asked about: most are not, and take all of it.
static constexpr unsigned kGivenWork = 400000;

namespace {

/// The equations of one vocabulary.
class Entailment {
public:
  Entailment(const Vocabulary &vocabulary, const GenerateOptions &options,
             const std::vector<SymbolicRule> &accepted,
             const std::vector<SymbolicRule> &given,
             const std::vector<SymbolicRule> *definitions,
             Instantiator &instantiator)
      : universe_(vocabulary, options.seed), instantiator_(instantiator),
        generalizer_(universe_, instantiator), definitions_(definitions),
        accepted_(proverFrom(accepted, mostDimsOf(vocabulary), kDefaultWork)) {
    if (!given.empty()) {
      given_ = proverFrom(given, mostDimsOf(vocabulary), kGivenWork);
    }
  }

  EntailCounts run(size_t operators) {
    counts_ = {universe_.vocabulary().name, operators, 0, 0, 0, 0, 0, {}};
    SeenEquations seen(universe_);
    universe_.enumerate(
        uint8_t(operators), operators != universe_.vocabulary().most,
        [&](const Term &term, const Term &first) { seen.add(term, first); });
    std::vector<SeenEquation> all = seen.take();
    counts_.equations = all.size();
    for (const SeenEquation &each : all) {
      add(each.term, each.first);
    }
    ask();
    return counts_;
  }

private:
  void add(const Term &term, const Term &first) {
    constexpr size_t mostAtOnce = 256;
    auto rule = generalizer_.run(equationOf(universe_, term, first));
    if (!rule || rule->variables.empty()) {
      ++counts_.unsaid;
      return;
    }
    rule->name = "equation";
    rule->summary = summaryOf(*rule);
    questions_.push_back(obligationsOf(*rule, instantiator_));
    rules_.push_back(std::move(*rule));
    if (rules_.size() == mostAtOnce) {
      ask();
    }
  }
  std::vector<bool>
  follow(Prover &prover,
         const std::vector<SymbolicRule> *definitions = nullptr) {
    std::vector<bool> result;
    ChildWork work{[] {},
                   [&](size_t i) {
                     ProofResult proof;
                     if (definitions) {
                       proof = followAll(*definitions, questions_[i]);
                     }
                     return proof.isProved ? proof
                                           : proveAll(prover, questions_[i]);
                   }};
    answerInChild(
        questions_.size(), work, ProofLimits().seconds,
        [&](const ProofResult &proof) { result.push_back(proof.isProved); });
    return result;
  }
  /// Drops what does not follow from the rules that were given.
  void keepAsked() {
    std::vector<bool> isAsked = follow(*given_);
    size_t kept = 0;
    for (size_t i = 0; i != rules_.size(); ++i) {
      if (isAsked[i]) {
        std::swap(rules_[kept], rules_[i]);
        std::swap(questions_[kept++], questions_[i]);
      }
    }
    rules_.resize(kept);
    questions_.resize(kept);
  }
  void ask() {
    if (given_) {
      keepAsked();
    }
    counts_.asked += rules_.size();
    std::vector<bool> isEntailed = follow(*accepted_, definitions_);
    for (size_t i = 0; i != rules_.size(); ++i) {
      if (isEntailed[i]) {
        ++counts_.entailed;
      } else if (tryRule(rules_[i], instantiator_).refusal) {
        ++counts_.refused;
      } else {
        counts_.open.push_back(std::move(rules_[i]));
      }
    }
    questions_.clear();
    rules_.clear();
  }

  Universe universe_;
  Instantiator &instantiator_;
  Generalizer generalizer_;
  /// If elements are followed, by these.
  const std::vector<SymbolicRule> *definitions_;
  std::unique_ptr<Prover> accepted_, given_;
  EntailCounts counts_;
  std::vector<Obligations> questions_;
  std::vector<Rule> rules_;
};

} // namespace

Status divisi::rewrite::entailGenerated(
    const GenerateOptions &options, const std::vector<Rule> &rules,
    const std::vector<Rule> &given, bool byElements,
    const std::function<void(const EntailCounts &)> &tell) {
  auto vocabularies = chooseVocabularies(options);
  if (!vocabularies) {
    return vocabularies.status();
  }
  Instantiator instantiator;
  std::vector<SymbolicRule> accepted =
      symbolicAxioms(rules, rules, instantiator);
  std::vector<SymbolicRule> also = symbolicAxioms(given, given, instantiator);
  std::vector<SymbolicRule> definitions;
  if (byElements) {
    definitions = symbolicDefinitions(rules, rules, instantiator);
  }
  for (const Vocabulary &vocabulary : *vocabularies) {
    Entailment entailment(vocabulary, options, accepted, also,
                          byElements ? &definitions : nullptr, instantiator);
    for (size_t operators = 1; operators <= vocabulary.most; ++operators) {
      tell(entailment.run(operators));
    }
  }
  return Status();
}
