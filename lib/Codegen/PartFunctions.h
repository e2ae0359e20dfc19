//===- PartFunctions.h - What operators are of elements ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_PARTFUNCTIONS_H
#define DIVISI_LIB_CODEGEN_PARTFUNCTIONS_H

#include "lib/Codegen/RowProgram.h"

namespace divisi {

/// What an operator is of elements; nothing if it has no such function.
std::optional<Function> functionOf(const rt::RegionPart &part);
/// Whether elements are of one type that is computed with, and is in `set`.
bool areOf(unsigned set, const std::vector<rt::DType> &types);
/// Whether elements of these types are what the function takes.
bool takes(Function function, std::vector<rt::DType> types);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_PARTFUNCTIONS_H
