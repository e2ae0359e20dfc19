//===- Layouts.h - Layouts for the rows of tests ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_REPORT_LAYOUTS_H
#define DIVISI_TEST_REPORT_LAYOUTS_H

#include "lib/Report/FieldText.h"

namespace divisi::test {

/// Two devices along x.
inline Grid twoDevices() { return Grid({{"x", 2}}); }

/// The layouts of `text` on `grid`.
inline std::vector<GridLayout> layouts(llvm::StringRef text,
                                       const Grid &grid = twoDevices()) {
  return readLayouts(text, grid).value();
}

} // namespace divisi::test

#endif // DIVISI_TEST_REPORT_LAYOUTS_H
