//===- Generate.h - The generator of rules ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator enumerates all graphs of a few operators over a printed table
// of tensors and operators. Two graphs with equal results on random elements of
// the prime field are an equation. Equations that follow from earlier ones, by
// rewriting or by the prover, are dropped; the others pass the gates of every
// rule.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_GENERATE_GENERATE_H
#define DIVISI_GENERATE_GENERATE_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What is generated.
struct GenerateOptions {
  uint64_t seed = 1; ///< Of the elements graphs are tried on.
  std::vector<std::string> vocabularies; ///< Of the table; none: all.
  size_t most = 4; ///< Operators of a graph, where a vocabulary has not less.
  /// Where what was decided is written down, and read when it is there: then
  /// nothing is decided again. A point and the vocabulary's name are added, for
  /// each has a file of its own. Empty: nowhere.
  std::string journal;
  size_t jobs = 1; ///< Processes that are at work at once.
};

/// What became of the graphs of one vocabulary with so many operators.
struct GenerateCounts {
  std::string vocabulary;  ///< Its name.
  size_t operators = 0;    ///< Of the graphs.
  uint64_t enumerated = 0; ///< Graphs.
  uint64_t classes = 0;    ///< Of graphs of one result, new at this size.
  uint64_t equal = 0;      ///< Graphs that are not the first of their class.
  uint64_t renamed = 0;    ///< What is left up to names of tensors.
  uint64_t asked = 0;      ///< What does not follow by rewriting.
  uint64_t unsaid = 0;     ///< Of these: rules have no words for it.
  uint64_t derived = 0;    ///< Of these: the prover derives it.
  uint64_t refused = 0;    ///< Of these: a gate refused it.
  uint64_t kept = 0;       ///< Of these.
  uint64_t proved = 0;     ///< Of those kept.
};

/// What was generated.
struct Generated {
  std::vector<Rule> rules; ///< Those by which something can take less first.
  /// One for each world and number of operators.
  std::vector<GenerateCounts> counts;
};

/// Tells of each vocabulary and number of operators when it is done; which are
/// proved is not counted yet, nor what others say.
using GenerateProgress = std::function<void(const GenerateCounts &)>;

/// Generates rules, and proves them from `axioms`; those that are not proved
/// say that they are open. Fails with Usage for a vocabulary that is not in the
/// table, with Invalid for a journal of something else. The caller has no other
/// threads.
Expected<Generated> generateRules(const GenerateOptions &options,
                                  const std::vector<Rule> &axioms,
                                  const GenerateProgress &progress);

/// What rules say of all equations of one vocabulary with so many operators.
struct EntailCounts {
  std::string vocabulary; ///< Its name.
  size_t operators = 0;   ///< Of the graphs.
  uint64_t equations = 0; ///< Up to names of tensors.
  uint64_t unsaid = 0;    ///< Of these: rules have no words for it.
  uint64_t asked = 0;     ///< Of the others: those that are asked about.
  uint64_t entailed = 0;  ///< Of these: the prover derives it.
  uint64_t refused = 0;   ///< Of these: it is false at other extents.
  std::vector<Rule> open; ///< The others.
};

/// Asks of every equation that generateRules() meets whether it follows from
/// `rules`, and nothing else, and tells of each vocabulary and number of
/// operators. If `byElements`, it may also follow from elements and those of
/// `rules` that are definitions. With `given`, of those equations alone that
/// follow from these. Fails with Usage for a vocabulary that is not in the
/// table.
Status entailGenerated(const GenerateOptions &options,
                       const std::vector<Rule> &rules,
                       const std::vector<Rule> &given, bool byElements,
                       const std::function<void(const EntailCounts &)> &tell);

/// Those of `generated` that are proved, by which something can take less, and
/// that do not follow from `others`, in order. The caller has no other threads.
std::vector<Rule> selectApplied(const std::vector<Rule> &generated,
                                const std::vector<Rule> &others);

/// The table: a line for each tensor and operator of each vocabulary.
std::string printGenerateTable();

} // namespace divisi::rewrite

#endif // DIVISI_GENERATE_GENERATE_H
