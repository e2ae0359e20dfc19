//===- LayerGroups.h - Layers that differ in numbers only -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of a hundred layers is planned in a few ways. Rows are cut into
// blocks, one for every stay in a numbered module (transformer.h.3); blocks
// whose names differ in numbers only, and whose rows have the same operators,
// splits and layouts, are one group, wherever they stand:
//
//   features.denseblock1.denselayer1-6, features.denseblock2.denselayer1-12
//
// Costs may differ within a group: a layer of twice the channels is still the
// same layer. Without module names, blocks are what repeats in the sequence of
// rows.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_LAYERGROUPS_H
#define DIVISI_LIB_REPORT_LAYERGROUPS_H

#include "divisi/Report/Report.h"

namespace divisi {

/// Blocks of rows that are alike.
struct LayerGroup {
  std::string label; ///< `transformer.h.0-11`; the headings of all blocks.
  std::vector<std::string> headings;             ///< One per block.
  std::vector<llvm::ArrayRef<ReportRow>> blocks; ///< Of equally many rows.

  /// The predicted time of all blocks.
  int64_t nanoseconds() const;
};

/// One entry function.
struct EntryGroups {
  std::string entry;              ///< Its name.
  std::vector<LayerGroup> groups; ///< By their first blocks.
};

/// The groups of `rows`, which outlive them.
std::vector<EntryGroups> groupLayers(llvm::ArrayRef<ReportRow> rows);

/// The module that a row of `scope` is printed under: up to and with the last
/// part that has a number, but without the last part of all unless that is a
/// number.
///
///   transformer.h.3.attn.c_attn   transformer.h.3
///   features.norm0                features
std::string headingOf(llvm::StringRef scope);

/// How a row is called beneath its heading: the rest of its scope, else its
/// node.
std::string nameBeneath(const ReportRow &row, llvm::StringRef heading);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_LAYERGROUPS_H
