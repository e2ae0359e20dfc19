//===- TrialFloats.cpp - Rules, evaluated on floats -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Gates/Trier.h"

using namespace divisi::rewrite;
using divisi::rt::DType;

void Trier::checkFloats(const Case &each) {
  NumericClass numericClass = *rule_.numericClass;
  std::string said;
  bool isExact = numericClass == NumericClass::BitExact;
  if (isExact && differ(each, Distribution::Special, Tolerance::Exact, &said)) {
    refuse(Gate::Floats, "it is not bit-exact: " + said);
  } else if (differ(each, Distribution::Normal,
                    isExact ? Tolerance::Exact : Tolerance::Rounding, &said)) {
    refuse(Gate::Floats, (isExact ? "it is not bit-exact: "
                                  : "it differs by more than rounding: ") +
                             said);
  } else if (numericClass == NumericClass::Reassociates &&
             differ(each, Distribution::Scaled, Tolerance::Finite, &said)) {
    refuse(Gate::Floats, "it changes the range: " + said);
  }
}

Trial Trier::runFloats() {
  // What rounds now and then has to be seen to.
  const int draws = rule_.numericClass == NumericClass::BitExact ? 24 : 4;
  // Rounding is much the same at all ranks.
  constexpr size_t mostRanks = 10;
  std::vector<Ranks> all = allRanks(rule_);
  size_t step = all.size() / mostRanks + 1;
  for (size_t at = 0; at < all.size(); at += step) {
    for (Draw kind : {Draw::Any, Draw::Large}) {
      std::optional<Assignment> assignment =
          draw(rule_, all[at], kind, random_);
      Case each;
      if (!assignment) {
        continue;
      }
      each.assignment = *assignment;
      each.types = typeChoices(rule_).front();
      for (auto &[word, type] : each.types) {
        type = type == DType::Field ? DType::F32 : type;
      }
      if (!fill(each) || !isSmall(each.instance)) {
        continue;
      }
      ++trial_.instances;
      for (int i = 0; i != draws && !isRefused(); ++i) {
        checkFloats(each);
      }
    }
  }
  return trial_;
}
