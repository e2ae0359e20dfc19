//===- OperatorKinds.h - Kinds of operators by name -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_OPERATORKINDS_H
#define DIVISI_RUNTIME_KERNELS_OPERATORKINDS_H

#include <string_view>

namespace divisi::rt {

/// Whether an element of its result is made of those at the same place of its
/// operands, which may broadcast.
bool isElementwise(std::string_view op);
/// Whether its result has elements of its operands, any part of which can be
/// asked for.
bool isMovement(std::string_view op);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_OPERATORKINDS_H
