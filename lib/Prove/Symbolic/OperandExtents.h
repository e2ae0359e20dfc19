//===- OperandExtents.h - Operand extents behind a result -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_SYMBOLIC_OPERANDEXTENTS_H
#define DIVISI_LIB_PROVE_SYMBOLIC_OPERANDEXTENTS_H

#include "divisi/Rules/Instance.h"

#include <vector>

namespace divisi::rewrite {

/// Of which extents of `operands`, counted through, dim `result` of what the
/// node makes of them is a function: all but those that change alone and leave
/// it as it is.
std::vector<bool> extentsBehind(const Node &node, size_t result,
                                const std::vector<TensorForm> &operands,
                                const Assignment &assignment,
                                const TypeChoice &types,
                                Instantiator &instantiator);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_SYMBOLIC_OPERANDEXTENTS_H
