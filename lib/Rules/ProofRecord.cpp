//===- ProofRecord.cpp - The record of proofs -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/ProofRecord.h"

#include "divisi/Rules/RuleText.h"
#include "divisi/Support/Sha256.h"

#include <algorithm>
#include <map>
#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;

/// So much of a hash tells texts of people apart.
static std::string hashOf(const std::string &text) {
  return toHex(Sha256::of(text)).substr(0, 16);
}

/// `p=0,q=1`; `-` where a rule has no shapes.
static std::string printRanks(const Ranks &ranks) {
  std::string text;
  for (const auto &[shape, rank] : ranks) {
    text += (text.empty() ? "" : ",") + shape + "=" + std::to_string(rank);
  }
  return text.empty() ? "-" : text;
}

std::string divisi::rewrite::printRecord(const std::vector<Rule> &rules,
                                         const std::vector<Verdict> &verdicts,
                                         const std::vector<Rule> &axioms) {
  std::string text = "axioms " + hashOf(printRules(axioms)) + "\n";
  for (size_t i = 0; i != rules.size(); ++i) {
    if (verdicts[i].status != RuleStatus::Proved || rules[i].isAxiom) {
      continue;
    }
    text += rules[i].name + " " + hashOf(printRule(rules[i])) + " at";
    if (verdicts[i].ranks == allRanks(rules[i])) {
      text += " all ranks\n";
      continue;
    }
    for (const Ranks &ranks : verdicts[i].ranks) {
      text += " " + printRanks(ranks);
    }
    text += "\n";
  }
  return text;
}

namespace {

/// One line.
struct Entry {
  std::string hash;
  std::vector<std::string> ranks; ///< As they are printed; `all`, `ranks`.
};

} // namespace

static Status stale(const std::string &what) {
  return makeError(ExitCode::Invalid, "the record of proofs is not of ", what,
                   "; write it again with divisi prove --record");
}

/// The ranks of a line, among all that the rule can have.
static std::vector<Ranks> ranksOf(const Rule &rule, const Entry &entry) {
  std::vector<Ranks> ranks = allRanks(rule);
  if (entry.ranks == std::vector<std::string>{"all", "ranks"}) {
    return ranks;
  }
  std::erase_if(ranks, [&](const Ranks &each) {
    return std::find(entry.ranks.begin(), entry.ranks.end(),
                     printRanks(each)) == entry.ranks.end();
  });
  return ranks;
}

Expected<std::vector<ProvedRule>>
divisi::rewrite::readRecord(std::string_view record,
                            const std::vector<Rule> &rules,
                            const std::vector<Rule> &axioms) {
  std::istringstream lines{std::string(record)};
  std::map<std::string, Entry> entries;
  std::string word, hash;
  lines >> word >> hash;
  if (word != "axioms" || hash != hashOf(printRules(axioms))) {
    return stale("these axioms");
  }
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    Entry entry;
    words >> name >> entry.hash >> word;
    while (words >> word) {
      entry.ranks.push_back(word);
    }
    entries[name] = std::move(entry);
  }
  std::vector<ProvedRule> proved;
  for (const Rule &rule : rules) {
    auto entry = entries.find(rule.name);
    if (entry == entries.end()) {
      continue;
    }
    if (entry->second.hash != hashOf(printRule(rule))) {
      return stale("the rule '" + rule.name + "' as it is now");
    }
    proved.push_back({rule, ranksOf(rule, entry->second)});
    entries.erase(entry);
  }
  if (!entries.empty()) {
    return stale("these rules: there is no '" + entries.begin()->first + "'");
  }
  return proved;
}
