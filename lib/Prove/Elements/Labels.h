//===- Labels.h - Dims by label ---------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_LABELS_H
#define DIVISI_LIB_PROVE_ELEMENTS_LABELS_H

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <map>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// The letters of each operand, and last those of the result, of a product's or
/// an attention's `labels`.
std::vector<std::string> lettersOf(const std::string &labels);

/// What belongs to each letter: an extent, or a place.
using ByLetter = std::map<char, Polynomial>;

/// `dims` by the letters that stand for them.
ByLetter byLetters(const std::string &letters, const Index &dims);

/// What belongs to these letters.
Index inOrder(const std::string &letters, const ByLetter &dims);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_LABELS_H
