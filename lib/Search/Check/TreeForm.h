//===- TreeForm.h - The form of a certificate's tree ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_TREEFORM_H
#define DIVISI_LIB_SEARCH_CHECK_TREEFORM_H

#include "Remainder.h"

namespace divisi::search {

/// What is wrong with the form of the tree, whose root there must be: scales,
/// who descends from whom, which states are named, how many numbers there are.
std::optional<std::string> checkTreeForm(const Problem &problem,
                                         const Remainder &remainder,
                                         const Certificate &certificate);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_TREEFORM_H
