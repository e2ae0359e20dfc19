//===- Select.cpp - Generated rules that are worth applying ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of what is generated says how things commute, or what the rules that
// people wrote say as well. What is left is worth a look in every graph.
//
//===----------------------------------------------------------------------===//

#include "divisi/Generate/Generate.h"
#include "divisi/Rules/Effort.h"
#include "lib/Generate/Keeper.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

/// Whether its target takes less somewhere.
static bool canTakeLess(const Rule &rule, Instantiator &instantiator) {
  bool isLess = false;
  forEfforts({rule, allRanks(rule)}, instantiator,
             [&](const Effort &source, const Effort &target) {
               isLess = target < source;
               return !isLess;
             });
  return isLess;
}

std::vector<Rule>
divisi::rewrite::selectApplied(const std::vector<Rule> &generated,
                               const std::vector<Rule> &others) {
  Instantiator instantiator;
  std::vector<Rule> useful;
  std::vector<Obligations> questions;
  for (const Rule &rule : generated) {
    if (!rule.open && canTakeLess(rule, instantiator)) {
      useful.push_back(rule);
      questions.push_back(obligationsOf(rule, instantiator));
    }
  }
  auto prover = proverFrom(symbolicAxioms(others, others, instantiator),
                           kMostDims, kDefaultWork);
  std::vector<Rule> selected;
  ChildWork work{[] {},
                 [&](size_t i) { return proveAll(*prover, questions[i]); }};
  size_t next = 0;
  answerInChild(questions.size(), work, ProofLimits().seconds,
                [&](const ProofResult &proof) {
                  if (!proof.isProved) {
                    selected.push_back(useful[next]);
                  }
                  ++next;
                });
  return selected;
}
