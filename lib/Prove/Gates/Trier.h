//===- Trier.h - A rule on its way through the gates ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_GATES_TRIER_H
#define DIVISI_LIB_PROVE_GATES_TRIER_H

#include "divisi/Prove/Trial.h"
#include "divisi/Rules/SampleTensors.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// A rule at an assignment, and which.
struct Case {
  Assignment assignment; ///< Of the rule's variables.
  TypeChoice types;      ///< Of its tensors.
  Instance instance;     ///< Both sides in the IR.
};

/// One rule on its way through the gates.
class Trier {
public:
  /// Of `rule`; both must outlive it. What it draws depends on what the rule
  /// says, and not on what it is called.
  Trier(const Rule &rule, Instantiator &instantiator);

  /// Tries assignments that are drawn.
  Trial runDrawn();
  /// Tries every assignment up to `most` of them.
  Trial runAll(size_t most);
  /// Compares results of floats.
  Trial runFloats();

private:
  bool isRefused() const { return trial_.refusal.has_value(); }
  void refuse(Gate gate, const std::string &reason) {
    trial_.refusal = Refusal{gate, reason};
  }
  std::string where(const Case &each) const;
  void drawCases(const Ranks &ranks);
  void drawLong(const Ranks &ranks);
  void drawSome(const Ranks &ranks, size_t most);
  bool addCase(const Assignment &assignment);
  bool fill(Case &each);
  void checkReverse(const Case &each, const std::vector<TensorForm> &variables);
  void checkForms(const Case &each);
  void refuseWithoutCase();
  void checkValues();
  bool checkExactly(const Case &each);
  void checkNumbers(const Case &each);
  std::optional<Difference> differ(const Case &each, Distribution distribution,
                                   Tolerance tolerance, std::string *said);
  void checkFloats(const Case &each);

  const Rule &rule_;
  Instantiator &instantiator_;
  std::mt19937_64 random_;
  std::vector<Case> cases_;
  bool isSatisfied_ = false; ///< Some assignment meets the conditions.
  std::string whyIllegal_;   ///< Of the last source that is not legal.
  Trial trial_;
};

/// Elements of all tensors beyond which a case is not worth its time.
inline constexpr int64_t kMostElements = 1 << 15;

/// Whether no tensor has more than those.
bool isSmall(const Instance &instance);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_GATES_TRIER_H
