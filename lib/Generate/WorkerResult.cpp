//===- WorkerResult.cpp - Results of a worker process ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/WorkerResult.h"

#include "divisi/Rules/RuleText.h"

#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;

/// The numbers of the counts, in one order.
static std::vector<uint64_t *> numbersOf(GenerateCounts &counts) {
  return {&counts.enumerated, &counts.classes, &counts.equal,   &counts.renamed,
          &counts.asked,      &counts.unsaid,  &counts.derived, &counts.refused,
          &counts.kept,       &counts.proved};
}

std::string divisi::rewrite::printWorkerResult(const Status &failure) {
  return std::to_string(int(failure.code())) + "\n" + failure.message();
}

std::string divisi::rewrite::printWorkerResult(const WorkerResult &result) {
  std::ostringstream out;
  out << int(ExitCode::Ok) << "\n" << result.counts.size() << "\n";
  for (GenerateCounts counts : result.counts) {
    out << counts.vocabulary << " " << counts.operators;
    for (uint64_t *number : numbersOf(counts)) {
      out << " " << *number;
    }
    out << "\n";
  }
  for (const Kept &each : result.kept) {
    out << int(each.gain) << " " << each.operators << " " << each.counts
        << "\n";
  }
  out << "rules\n";
  // No two rules of a text have one name.
  for (size_t i = 0; i != result.kept.size(); ++i) {
    Rule rule = result.kept[i].rule;
    rule.name += "-" + std::to_string(i);
    out << printRule(rule);
  }
  return out.str();
}

Expected<WorkerResult>
divisi::rewrite::parseWorkerResult(const std::string &text) {
  std::istringstream in(text);
  int code = 0;
  in >> code;
  in.ignore();
  std::string line;
  if (code != int(ExitCode::Ok)) {
    std::getline(in, line, '\0');
    return Status(ExitCode(code), line);
  }
  WorkerResult result;
  size_t count = 0;
  in >> count;
  for (size_t i = 0; i != count; ++i) {
    GenerateCounts counts;
    in >> counts.vocabulary >> counts.operators;
    for (uint64_t *number : numbersOf(counts)) {
      in >> *number;
    }
    result.counts.push_back(std::move(counts));
  }
  in.ignore();
  while (std::getline(in, line) && line != "rules") {
    std::istringstream words(line);
    Kept kept;
    int gain = 0;
    words >> gain >> kept.operators >> kept.counts;
    kept.gain = Gain(gain);
    result.kept.push_back(std::move(kept));
  }
  std::getline(in, line, '\0');
  auto rules = parseRules(line, "generated");
  if (!rules) {
    return rules.status();
  }
  for (size_t i = 0; i != result.kept.size(); ++i) {
    result.kept[i].rule = std::move((*rules)[i]);
  }
  return result;
}
