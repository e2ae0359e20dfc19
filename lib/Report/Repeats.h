//===- Repeats.h - What repeats in a sequence -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_REPEATS_H
#define DIVISI_LIB_REPORT_REPEATS_H

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace divisi {

/// `count` times the same `period` elements, from `begin` on.
struct Repeat {
  size_t begin = 0, period = 0, count = 0; ///< In elements, but `count`.
};

/// Repeats that do not overlap, in order: first the one that covers most (of
/// these the one of the shortest period, then the first), then what is left on
/// either side of it. Repeats of a few elements are none.
std::vector<Repeat> findRepeats(llvm::ArrayRef<std::string> sequence);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_REPEATS_H
