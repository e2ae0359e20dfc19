//===- LayerText.h - The table by layer -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_LAYERTEXT_H
#define DIVISI_LIB_REPORT_LAYERTEXT_H

#include "LayerGroups.h"

#include "llvm/Support/raw_ostream.h"

namespace divisi {

/// `transformer.h.0-11  (12 alike)  3.20 ms`.
void printHeading(const LayerGroup &group, llvm::raw_ostream &os);

/// The line of the row that stands at `index` of every block.
void printGroupRow(const LayerGroup &group, size_t index,
                   llvm::raw_ostream &os);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_LAYERTEXT_H
