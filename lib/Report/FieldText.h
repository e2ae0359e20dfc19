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

/// What --rewrite did and saves, and which programs it compared: the name of
/// each line, and the line.
std::vector<std::pair<std::string, std::string>>
rewritingLines(const Report &report);

/// Numbers of micro-batches and stages that were compared, likewise.
std::vector<std::pair<std::string, std::string>>
trialLines(const Report &report);

/// How fast outputs follow each other, likewise, where that was wanted.
std::vector<std::pair<std::string, std::string>>
throughputLines(const Report &report);

/// Plans on fewer devices and of one kind of parallelism, likewise.
std::vector<std::pair<std::string, std::string>>
comparisonLines(const Report &report);

/// Transfers between grids, likewise: bytes, time, and the least that there can
/// be.
std::vector<std::pair<std::string, std::string>>
transferLines(const Report &report);

/// Work, in matrix entries: `2.9 M steps`.
std::string workText(int64_t work);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_FIELDTEXT_H
