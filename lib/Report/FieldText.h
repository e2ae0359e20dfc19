//===- FieldText.h - Splits and layouts of a report as text -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_FIELDTEXT_H
#define DIVISI_LIB_REPORT_FIELDTEXT_H

#include "divisi/Report/Report.h"

namespace divisi {

/// `m@x, n@y` of an operator, the axes of a collective, `x.y`; empty if there
/// are none.
std::string splitText(const ReportRow &row);
/// Sets the split or axes of `row`, whose `op` is known, to what splitText
/// prints; false if `text` is neither.
bool readSplit(llvm::StringRef text, ReportRow &row);

/// `[x, *], [*, *] partial sum {y}`
std::string layoutsText(llvm::ArrayRef<GridLayout> layouts);
/// The layouts on `grid` that layoutsText prints; nothing if `text` are none.
std::optional<std::vector<GridLayout>> readLayouts(llvm::StringRef text,
                                                   const Grid &grid);

/// `predicted to take 1.0 us a run on one device instead of 2.0 us, 50.0 %
/// less`
std::string savingText(const rewrite::SavingRecord &saving);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_FIELDTEXT_H
