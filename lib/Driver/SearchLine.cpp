//===- SearchLine.cpp - How far a search is, in a line --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLine.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace divisi;

std::string
divisi::describeSearch(double seconds, const std::optional<search::Wide> &cost,
                       const std::optional<search::Wide> &lowerBound) {
  std::string text = formatv("{0,8:F1} s  best {1}  bound {2}", seconds,
                             cost ? search::toString(*cost) : "-",
                             lowerBound ? search::toString(*lowerBound) : "-");
  if (cost && lowerBound) {
    text +=
        formatv("  gap {0:P3}", search::relativeGap(*cost, *lowerBound)).str();
  }
  return text;
}
