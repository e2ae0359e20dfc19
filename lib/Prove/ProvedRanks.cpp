//===- ProvedRanks.cpp - At which ranks a rule is proved ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/ProvedRanks.h"

#include <algorithm>
#include <set>

using namespace divisi::rewrite;

std::vector<Ranks>
divisi::rewrite::ranksToProve(const Rule &rule,
                              const Obligations &obligations) {
  ptrdiff_t wanted = 0;
  for (const Rule &each : withOperators(rule)) {
    wanted += ptrdiff_t(allTypeBindings(each, {}).size());
  }
  std::vector<Ranks> result = allRanks(rule);
  std::erase_if(result, [&](const Ranks &ranks) {
    return std::ranges::count(obligations, ranks, &SymbolicRule::ranks) !=
           wanted;
  });
  return result;
}

std::vector<Ranks> divisi::rewrite::provedRanks(const std::vector<Ranks> &ranks,
                                                const Obligations &obligations,
                                                const ProofResult &proof) {
  std::vector<Ranks> result = ranks;
  std::set<size_t> proved(proof.proved.begin(), proof.proved.end());
  for (size_t i = 0; i != obligations.size() && !proof.isProved; ++i) {
    if (!proved.contains(i)) {
      std::erase(result, obligations[i].ranks);
    }
  }
  return result;
}

std::string divisi::rewrite::describeRanks(const std::vector<Ranks> &ranks) {
  bool isUpTo = true; // All up to some rank of the only shape.
  std::string text;
  for (size_t i = 0; i != ranks.size(); ++i) {
    isUpTo &= ranks[i].size() == 1 && ranks[i].begin()->second == i;
    std::string place;
    for (const auto &[shape, rank] : ranks[i]) {
      place += (place.empty() ? "" : ", ") +
               ("rank(" + shape + ") == " + std::to_string(rank));
    }
    text += (text.empty() ? "" : "; ") + place;
  }
  if (ranks.empty() || !isUpTo) {
    return text;
  }
  return "rank(" + ranks.back().begin()->first +
         ") <= " + std::to_string(ranks.back().begin()->second);
}
