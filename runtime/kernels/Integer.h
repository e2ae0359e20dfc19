//===- Integer.h - Products of codes ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_INTEGER_H
#define DIVISI_RUNTIME_KERNELS_INTEGER_H

#include "divisi/runtime/kernels/Checks.h"

#include <array>

namespace divisi::rt {

/// The call over i32 in the place of `nn.matmul_integer` or
/// `nn.conv_integer`: the same of the operands less their zero points.
struct WideCall {
  /// In the place of `given`, which must outlive it.
  explicit WideCall(const CallSite &given);
  WideCall(const WideCall &) = delete;

  bool isConvolution;               ///< Else a product.
  std::vector<TensorInfo> operands; ///< Of i32, lying dense in the workspace.
  std::array<int64_t, 2> at = {};   ///< Where they lie in the workspace.
  int64_t workspaceBytes = 0;       ///< Of operands; the inner kernel's follow.
  CallSite site;                    ///< The call; refers to the other members.
};

/// Reads the zero points that attributes say, and checks what kernels of i32
/// do not. Operand 2, if there is one, says that of operand 0 instead.
bool checkCodes(const CallSite &site, const WideCall &wide,
                const Checks &checks, std::array<int64_t, 2> &zeros);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_INTEGER_H
