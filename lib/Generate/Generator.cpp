//===- Generator.cpp - The generator of rules -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Generate/Generate.h"

#include "divisi/Prove/Parallel.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Support/Sha256.h"
#include "lib/Generate/Generalizer.h"
#include "lib/Generate/Journal.h"
#include "lib/Generate/Keeper.h"
#include "lib/Generate/SeenEquations.h"
#include "lib/Generate/WorkerResult.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

/// So much of a hash tells texts of people apart.
static std::string hashOf(const std::string &text) {
  return toHex(Sha256::of(text)).substr(0, 16);
}

namespace {

/// An equation about which the prover is asked.
struct Pending {
  SeenEquation seen;
  std::string text;
  Equation equation;
  Rule rule;
  Obligations obligations;
  std::optional<Decision> decision; ///< Once it is known.
  bool isFree = false; ///< It holds, but each side has variables of its own.
};

/// What all vocabularies share.
struct Shared {
  uint64_t seed;
  const GenerateProgress &progress;
  Journal journal;
  Instantiator &instantiator;
  Keeper keeper;
  std::vector<GenerateCounts> counts;
};

/// All graphs of one vocabulary.
class VocabularyRun {
public:
  /// `isLast` says that nobody asks again at the end what follows.
  VocabularyRun(Shared &all, const Vocabulary &vocabulary, bool isLast)
      : all_(all), isLast_(isLast), universe_(vocabulary, all.seed),
        deriver_(universe_), generalizer_(universe_, all.instantiator),
        seen_(universe_) {}

  Status run();

private:
  /// Whether others are asked about it, for it is not derived.
  bool consider(const SeenEquation &seen);
  void considerAll();
  void pend(Pending pending);
  void flush();
  void decideSome();
  void decide(const Pending &pending, Decision decision);
  bool keep(const Pending &pending);
  void leave(const SeenEquation &seen) {
    leaveOpen(seen, deriver_);
    ++left_;
  }
  GenerateCounts &counts() { return all_.counts.back(); }

  Shared &all_;
  bool isLast_;
  Universe universe_;
  Deriver deriver_;
  Generalizer generalizer_;
  SeenEquations seen_;
  size_t left_ = 0; ///< How many are left open.
  std::vector<Pending> pending_;
  Status status_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

/// As many are asked about at once.
static constexpr size_t kMostPending = 32;

/// What is derived from a graph that is left open afterwards is considered
/// again.
void VocabularyRun::considerAll() {
  std::vector<SeenEquation> all = seen_.take();
  counts().renamed = all.size();
  std::vector<bool> isAsked(all.size(), false);
  size_t left;
  do {
    left = left_;
    for (size_t i = 0; i != all.size() && status_.isOk(); ++i) {
      isAsked[i] = isAsked[i] || consider(all[i]);
    }
    flush();
  } while (left != left_ && status_.isOk());
}

bool VocabularyRun::consider(const SeenEquation &seen) {
  if (deriver_.derives(seen.term, seen.first)) {
    return false;
  }
  ++counts().asked;
  Pending pending;
  pending.seen = seen;
  pending.text = universe_.vocabulary().name + " " + seen.text;
  pending.equation = equationOf(universe_, seen.term, seen.first);
  pend(std::move(pending));
  return true;
}

void VocabularyRun::decide(const Pending &pending, Decision decision) {
  all_.journal.note(pending.text, decision);
  switch (decision) {
  case Decision::Unsaid:
    ++counts().unsaid;
    if (pending.isFree) {
      deriver_.use(pending.equation);
    } else {
      leave(pending.seen);
    }
    return;
  case Decision::Refused:
    ++counts().refused;
    leave(pending.seen);
    return;
  case Decision::Derived:
    ++counts().derived;
    deriver_.use(pending.equation);
    return;
  case Decision::Kept:
    ++counts().kept;
    deriver_.use(pending.equation);
    return;
  }
}

void VocabularyRun::pend(Pending pending) {
  pending.equation = generalizer_.separate(pending.equation);
  auto rule = generalizer_.run(pending.equation);
  pending.isFree = rule && !isMatchable(*rule, false) &&
                   !isMatchable(*rule, true) && !rule->variables.empty();
  if (!rule || rule->variables.empty() || pending.isFree) {
    pending.decision = Decision::Unsaid;
  } else {
    pending.rule = std::move(*rule);
    pending.rule.name = "candidate";
    pending.obligations = obligationsOf(pending.rule, all_.instantiator);
  }
  pending_.push_back(std::move(pending));
  if (pending_.size() == kMostPending) {
    flush();
  }
}

/// Decides about those that are pending, in their order: what is kept may make
/// others follow.
void VocabularyRun::decideSome() {
  std::vector<Obligations> questions;
  for (const Pending &each : pending_) {
    if (!each.decision) {
      questions.push_back(each.obligations);
    }
  }
  std::vector<bool> isDerived = all_.keeper.areDerived(questions);
  size_t next = 0;
  bool isMore = false;
  for (Pending &each : pending_) {
    if (each.decision) {
      continue;
    }
    bool follows = isDerived[next++];
    if (!follows && isMore) {
      follows = all_.keeper.areDerived({each.obligations})[0];
    }
    bool isKept = !follows && keep(each);
    isMore |= isKept;
    each.decision = follows  ? Decision::Derived
                    : isKept ? Decision::Kept
                             : Decision::Refused;
  }
}

/// Decides about all that are pending. What is used of it after that does not
/// depend on whether a journal has said so.
void VocabularyRun::flush() {
  for (Pending &each : pending_) {
    auto known = all_.journal.find(each.text);
    if (known && !each.decision) {
      bool isKept = *known == Decision::Kept;
      each.decision = isKept && !keep(each) ? Decision::Refused : *known;
    }
  }
  decideSome();
  for (const Pending &each : pending_) {
    decide(each, *each.decision);
  }
  pending_.clear();
  Status saved = all_.journal.save();
  status_ = status_.isOk() ? saved : status_;
}

bool VocabularyRun::keep(const Pending &pending) {
  generalizer_.run(pending.equation);
  Rule wide = generalizer_.widen();
  wide.name = pending.rule.name;
  return all_.keeper.keep(pending.rule, wide, pending.seen.term.size,
                          all_.counts.size() - 1);
}

Status VocabularyRun::run() {
  size_t most = universe_.vocabulary().most;
  size_t kept = all_.keeper.kept().size();
  all_.keeper.enter(mostDimsOf(universe_.vocabulary()));
  for (size_t size = 1; size <= most && status_.isOk(); ++size) {
    all_.counts.push_back({});
    counts().vocabulary = universe_.vocabulary().name;
    counts().operators = size;
    uint64_t enumerated = universe_.enumerated();
    uint64_t classes = universe_.classes();
    universe_.enumerate(uint8_t(size), size != most,
                        [&](const Term &term, const Term &first) {
                          ++counts().equal;
                          seen_.add(term, first);
                        });
    considerAll();
    counts().enumerated = universe_.enumerated() - enumerated;
    counts().classes = universe_.classes() - classes;
    if (status_.isOk() && (size != most || isLast_)) {
      all_.keeper.dropDerived(kept, all_.counts, /*jobs=*/1);
    }
    all_.progress(counts());
  }
  return status_;
}

//===----------------------------------------------------------------------===//
// All vocabularies
//===----------------------------------------------------------------------===//

/// The rules in the order of the file, with their names there.
static Generated finish(const Shared &all) {
  std::vector<Kept> kept = all.keeper.kept();
  std::stable_sort(kept.begin(), kept.end(), [](const Kept &a, const Kept &b) {
    return a.gain != b.gain ? a.gain < b.gain : a.operators < b.operators;
  });
  Generated result{{}, all.counts};
  for (Kept &each : kept) {
    GenerateCounts &counts = result.counts[each.counts];
    counts.proved += each.isProved;
    each.rule.name = "generated-" + counts.vocabulary + "-" +
                     std::to_string(result.rules.size() + 1);
    result.rules.push_back(std::move(each.rule));
  }
  return result;
}

/// All that decisions depend on.
static std::string headOf(const GenerateOptions &options,
                          const Vocabulary &vocabulary,
                          const std::vector<Rule> &axioms) {
  return "divisi rules generate, seed " + std::to_string(options.seed) +
         ", up to " + std::to_string(vocabulary.most) + " operators of " +
         vocabulary.name + ", table " + hashOf(printGenerateTable()) +
         ", axioms " + hashOf(printRules(axioms));
}

/// Decides about a vocabulary. Its journal is a file of its own, for others are
/// at work at the same time.
static Status runVocabulary(const GenerateOptions &options,
                            const Vocabulary &vocabulary,
                            const std::vector<Rule> &axioms, bool isLast,
                            Shared &all) {
  std::string path =
      options.journal.empty() ? "" : options.journal + "." + vocabulary.name;
  std::string head = headOf(options, vocabulary, axioms);
  if (!all.keeper.kept().empty()) {
    std::string before;
    for (const Kept &each : all.keeper.kept()) {
      before += printRule(each.rule);
    }
    head += ", after " + hashOf(before);
  }
  auto journal = Journal::open(path, head);
  if (!journal) {
    return journal.status();
  }
  all.journal = std::move(*journal);
  return VocabularyRun(all, vocabulary, isLast).run();
}

/// Takes over what a process found.
static Status addResult(const std::optional<std::string> &text,
                        const Vocabulary &vocabulary, Shared &all) {
  if (!text) {
    return Status(ExitCode::Internal,
                  "the process that generates rules of '" + vocabulary.name +
                      "' ended before it was done; with --journal, begun "
                      "again it goes on from there");
  }
  auto result = parseWorkerResult(*text);
  if (!result) {
    return result.status();
  }
  size_t before = all.counts.size();
  all.counts.insert(all.counts.end(), result->counts.begin(),
                    result->counts.end());
  for (Kept &each : result->kept) {
    each.counts += before;
    all.keeper.add(std::move(each));
  }
  return Status();
}

/// All vocabularies but the first, which may use what was found in that one. At
/// the end those are dropped that follow from what other vocabularies have.
static Status runOthers(const GenerateOptions &options,
                        const std::vector<Vocabulary> &vocabularies,
                        const std::vector<Rule> &axioms, Shared &all) {
  size_t kept = all.keeper.kept().size(), counts = all.counts.size();
  std::vector<std::optional<std::string>> texts;
  runInProcesses(
      vocabularies.size() - 1, {options.jobs},
      [&](size_t number) {
        Status status = runVocabulary(options, vocabularies[number + 1], axioms,
                                      /*isLast=*/false, all);
        WorkerResult result{{}, {}};
        result.counts.assign(all.counts.begin() + long(counts),
                             all.counts.end());
        for (size_t i = kept; i != all.keeper.kept().size(); ++i) {
          result.kept.push_back(all.keeper.kept()[i]);
          result.kept.back().counts -= counts;
        }
        return status.isOk() ? printWorkerResult(result)
                             : printWorkerResult(status);
      },
      [&](size_t, const Piece &piece) { texts.push_back(piece.text); });
  for (size_t i = 0; i != texts.size(); ++i) {
    Status status = addResult(texts[i], vocabularies[i + 1], all);
    if (!status.isOk()) {
      return status;
    }
  }
  all.keeper.dropDerived(kept, all.counts, options.jobs);
  return Status();
}

Expected<Generated>
divisi::rewrite::generateRules(const GenerateOptions &options,
                               const std::vector<Rule> &axioms,
                               const GenerateProgress &progress) {
  auto vocabularies = chooseVocabularies(options);
  if (!vocabularies) {
    return vocabularies.status();
  }
  Instantiator instantiator;
  Shared all{options.seed,
             progress,
             {},
             instantiator,
             Keeper(axioms, instantiator),
             {}};
  Status status = runVocabulary(options, vocabularies->front(), axioms,
                                /*isLast=*/true, all);
  if (status.isOk() && vocabularies->size() > 1) {
    status = runOthers(options, *vocabularies, axioms, all);
  }
  if (!status.isOk()) {
    return status;
  }
  all.keeper.prove(options.jobs);
  return finish(all);
}
