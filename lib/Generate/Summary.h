//===- Summary.h - A rule in one line ---------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_SUMMARY_H
#define DIVISI_LIB_GENERATE_SUMMARY_H

#include "divisi/Rules/Rule.h"

#include <string>

namespace divisi::rewrite {

/// `matmul(add(x, y), z) = add(matmul(x, z), matmul(y, z))`.
std::string summaryOf(const Rule &rule);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_SUMMARY_H
