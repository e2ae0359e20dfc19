//===- WhyMatch.h - What a name of the table stands for ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_WHYMATCH_H
#define DIVISI_LIB_REPORT_WHYMATCH_H

#include "divisi/Report/Report.h"

namespace divisi {

/// What a name means.
struct WhyMatch {
  std::vector<bool> rows;                    ///< Per row of the report.
  std::vector<const ReportTensor *> tensors; ///< Of the report.
};

/// See answerWhy.
Expected<WhyMatch> matchName(const Report &report, llvm::StringRef name);

/// Whether `name` is one that `pattern` means: `h.0-3,7.attn` are ranges of
/// numbers, * is anything, and a list has commas and spaces.
bool matchesNumbered(llvm::StringRef pattern, llvm::StringRef name);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_WHYMATCH_H
