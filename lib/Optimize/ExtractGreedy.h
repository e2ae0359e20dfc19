//===- ExtractGreedy.h - Extractions changed node by node -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every class that may be needed prefers one of its nodes, and the preferences
// are an extraction: that of the classes which are needed by them. Preferring
// another node changes the extraction only where it begins or ends to need
// classes, so that neighbours of an extraction are priced fast.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_EXTRACTGREEDY_H
#define DIVISI_LIB_OPTIMIZE_EXTRACTGREEDY_H

#include "lib/Optimize/ExtractForm.h"

namespace divisi::optimize {

/// An extraction that is being changed. Both arguments must outlive it.
class Preferences {
public:
  /// With `preferred`, a node of each class of `form.order`.
  Preferences(const ExtractionProblem &problem, const ExtractionForm &form,
              std::vector<uint32_t> preferred);

  /// The node that a class prefers, needed or not.
  uint32_t preferred(uint32_t c) const { return preferred_[c]; }
  /// Whether the extraction takes a node of the class.
  bool isNeeded(uint32_t c) const { return readers_[c] != 0; }
  /// Of the extraction.
  int64_t cost() const { return cost_; }
  /// Changes what a class prefers, which changing back undoes.
  void prefer(uint32_t c, uint32_t node);
  /// The extraction.
  Extraction extraction() const;

private:
  void change(uint32_t c, uint32_t node, bool isTaken);
  void settle(bool isTaken);

  const ExtractionProblem &problem_;
  const ExtractionForm &form_;
  std::vector<uint32_t> preferred_;
  std::vector<uint32_t> readers_; ///< Taken nodes that read it, and roots.
  std::vector<uint32_t> pending_; ///< Classes to be looked at.
  int64_t cost_ = 0;
};

/// What the baseline prefers.
std::vector<uint32_t> preferGreedily(const ExtractionProblem &problem,
                                     const ExtractionForm &form);

/// What an extraction prefers; of classes that it does not need, `others`.
std::vector<uint32_t> preferencesOf(const ExtractionForm &form,
                                    const Extraction &extraction,
                                    std::vector<uint32_t> others);

/// Prefers other nodes, one at a time, as long as the extraction gets cheaper,
/// or stays as cheap without a dominated one.
void descend(const ExtractionProblem &problem, const ExtractionForm &form,
             Preferences &preferences);

/// The cheapest `most` of the extractions that one other node makes of `from`.
std::vector<Extraction> neighboursOf(const ExtractionProblem &problem,
                                     const ExtractionForm &form,
                                     Preferences from, size_t most);

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_EXTRACTGREEDY_H
