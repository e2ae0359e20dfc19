//===- Generator.cpp - Rules that nobody wrote ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Generate.h"

#include "divisi/Rewrite/RuleText.h"
#include "divisi/Support/Sha256.h"
#include "lib/Rewrite/Generate/Deriver.h"
#include "lib/Rewrite/Generate/Generalizer.h"
#include "lib/Rewrite/Generate/Journal.h"
#include "lib/Rewrite/Generate/Keeper.h"

#include <algorithm>
#include <unordered_set>

using namespace divisi;
using namespace divisi::rewrite;

/// So much of a hash tells texts of people apart.
static std::string hashOf(const std::string &text) {
  return toHex(Sha256::of(text)).substr(0, 16);
}

namespace {

/// A graph and the first of its class.
struct Met {
  Term term, first;
  size_t variables; ///< How many different ones both have.
};

/// An equation about which the prover is asked.
struct Pending {
  Term term, first;
  std::string text;
  Equation equation;
  Rule rule;
  Obligations obligations;
  std::optional<Decision> decision; ///< Once it is known.
};

/// What all worlds share.
struct Shared {
  uint64_t seed;
  const GenerateProgress &progress;
  Journal journal;
  Instantiator &instantiator;
  Keeper keeper;
  std::vector<GenerateCounts> counts;
};

/// All graphs of one world.
class WorldRun {
public:
  WorldRun(Shared &all, const World &world)
      : all_(all), universe_(world, all.seed), deriver_(universe_),
        generalizer_(universe_, all.instantiator) {}

  Status run();

private:
  void meet(const Term &term, const Term &first);
  void consider(const Term &term, const Term &first);
  void considerAll();
  void pend(Pending pending);
  void flush();
  void decideSome();
  void decide(const Pending &pending, Decision decision);
  bool keep(const Pending &pending);
  GenerateCounts &counts() { return all_.counts.back(); }

  Shared &all_;
  Universe universe_;
  Deriver deriver_;
  Generalizer generalizer_;
  std::unordered_set<std::string> seen_;
  std::vector<Met> met_;
  std::vector<Pending> pending_;
  Status status_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

/// As many are asked about at once.
static constexpr size_t kMostPending = 32;

void WorldRun::meet(const Term &term, const Term &first) {
  ++counts().equal;
  if (seen_.insert(canonicalText(universe_, term, first)).second) {
    met_.push_back({term, first, countVariables(universe_, term, first)});
  }
}

/// Those of the most variables first: others are cases of them.
void WorldRun::considerAll() {
  counts().renamed = met_.size();
  std::stable_sort(met_.begin(), met_.end(), [](const Met &a, const Met &b) {
    return a.variables > b.variables;
  });
  for (const Met &each : met_) {
    if (status_.isOk()) {
      consider(each.term, each.first);
    }
  }
  met_.clear();
  flush();
}

void WorldRun::consider(const Term &term, const Term &first) {
  if (deriver_.derives(term, first)) {
    return;
  }
  ++counts().asked;
  Pending pending;
  pending.term = term;
  pending.first = first;
  pending.text = universe_.world().name + " " +
                 canonicalText(universe_, term, first);
  pending.equation = equationOf(universe_, term, first);
  pend(std::move(pending));
}

void WorldRun::decide(const Pending &pending, Decision decision) {
  all_.journal.note(pending.text, decision);
  switch (decision) {
  case Decision::Unsaid:
    ++counts().unsaid;
    deriver_.leaveOpen(pending.term);
    return;
  case Decision::Refused:
    ++counts().refused;
    deriver_.leaveOpen(pending.term);
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

void WorldRun::pend(Pending pending) {
  pending.equation = generalizer_.separate(pending.equation);
  auto rule = generalizer_.run(pending.equation);
  if (!rule || rule->variables.empty()) {
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

/// Decides about those that are pending and follow from those kept, and about
/// those before the first that is kept, too.
void WorldRun::decideSome() {
  std::vector<Obligations> questions;
  for (const Pending &each : pending_) {
    if (!each.decision) {
      questions.push_back(each.obligations);
    }
  }
  std::vector<bool> isDerived = all_.keeper.areDerived(questions);
  size_t next = 0;
  bool isKept = false;
  for (Pending &each : pending_) {
    if (each.decision) {
      continue;
    }
    if (isDerived[next++]) {
      each.decision = Decision::Derived;
    } else if (!isKept) {
      isKept = keep(each);
      each.decision = isKept ? Decision::Kept : Decision::Refused;
    }
  }
}

/// Decides about all that are pending. What is used of it after that does not
/// depend on whether a journal has said so.
void WorldRun::flush() {
  for (Pending &each : pending_) {
    auto known = all_.journal.find(each.text);
    if (known && !each.decision) {
      bool isKept = *known == Decision::Kept;
      each.decision = isKept && !keep(each) ? Decision::Refused : *known;
    }
  }
  auto isOpen = [](const Pending &each) { return !each.decision; };
  while (std::any_of(pending_.begin(), pending_.end(), isOpen)) {
    decideSome();
  }
  for (const Pending &each : pending_) {
    decide(each, *each.decision);
  }
  pending_.clear();
  Status saved = all_.journal.save();
  status_ = status_.isOk() ? saved : status_;
}

bool WorldRun::keep(const Pending &pending) {
  generalizer_.run(pending.equation);
  Rule wide = generalizer_.widen();
  wide.name = pending.rule.name;
  return all_.keeper.keep(pending.rule, wide, pending.term.size,
                          all_.counts.size() - 1);
}

Status WorldRun::run() {
  size_t most = universe_.world().most;
  size_t kept = all_.keeper.kept().size();
  for (size_t size = 1; size <= most && status_.isOk(); ++size) {
    all_.counts.push_back({});
    counts().world = universe_.world().name;
    counts().operators = size;
    uint64_t enumerated = universe_.enumerated();
    uint64_t classes = universe_.classes();
    universe_.enumerate(uint8_t(size), size != most,
                        [&](const Term &term, const Term &first) {
                          meet(term, first);
                        });
    considerAll();
    counts().enumerated = universe_.enumerated() - enumerated;
    counts().classes = universe_.classes() - classes;
    all_.progress(counts());
  }
  if (status_.isOk()) {
    all_.keeper.dropDerived(kept, all_.counts);
  }
  return status_;
}

//===----------------------------------------------------------------------===//
// All worlds
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
    each.rule.name = "generated-" + counts.world + "-" +
                     std::to_string(result.rules.size() + 1);
    result.rules.push_back(std::move(each.rule));
  }
  return result;
}

/// All that decisions depend on.
static std::string headOf(const GenerateOptions &options,
                          const std::vector<World> &worlds,
                          const std::vector<Rule> &axioms) {
  std::string head = "divisi rules generate, seed " +
                     std::to_string(options.seed) + ", up to " +
                     std::to_string(options.most) + " operators of";
  for (const World &world : worlds) {
    head += " " + world.name;
  }
  return head + ", table " + hashOf(printGenerateTable()) + ", axioms " +
         hashOf(printRules(axioms));
}

Expected<Generated>
divisi::rewrite::generateRules(const GenerateOptions &options,
                               const std::vector<Rule> &axioms,
                               const GenerateProgress &progress) {
  auto worlds = chooseWorlds(options);
  if (!worlds) {
    return worlds.status();
  }
  auto journal =
      Journal::open(options.journal, headOf(options, *worlds, axioms));
  if (!journal) {
    return journal.status();
  }
  Instantiator instantiator;
  Shared all{options.seed,
             progress,
             std::move(*journal),
             instantiator,
             Keeper(axioms, instantiator),
             {}};
  for (const World &world : *worlds) {
    if (Status status = WorldRun(all, world).run(); !status.isOk()) {
      return status;
    }
  }
  return finish(all);
}
