//===- SearchLine.h - How far a search is, in a line ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SEARCHLINE_H
#define DIVISI_LIB_DRIVER_SEARCHLINE_H

#include "divisi/Search/Solvers.h"

#include <optional>
#include <string>

namespace divisi {

/// `    1.5 s  best 120  bound 118  gap 1.667%`; a dash for what is not known.
std::string describeSearch(double seconds,
                           const std::optional<search::Wide> &cost,
                           const std::optional<search::Wide> &lowerBound);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SEARCHLINE_H
