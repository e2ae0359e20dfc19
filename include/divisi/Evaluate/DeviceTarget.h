//===- DeviceTarget.h - The target device of a program ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EVALUATE_DEVICETARGET_H
#define DIVISI_EVALUATE_DEVICETARGET_H

#include "divisi/runtime/device/Reduce.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <optional>
#include <string>

namespace divisi {

/// What the compiler knows of a device with memory of its own: what it has
/// kernels for runs there, and all else with the host.
struct DeviceTarget {
  /// Its kernels, which outlive the compilation; null: there is no device. They
  /// are asked about calls, not prepared: no device has to be there.
  const rt::Backend *backend = nullptr;
  /// Whether the communicator of the sessions to come reaches its memory
  /// (rt::Communicator::reaches) in a collective of such elements, which
  /// combines them so, or moves them: else that works on copies. Null: in none.
  bool (*reaches)(rt::DType type,
                  std::optional<rt::ReduceKind> combines) = nullptr;
  /// The target of code that its kernels take (rt::isGridTarget); empty: there
  /// is no code for them.
  std::string codeTarget = {};
};

} // namespace divisi

#endif // DIVISI_EVALUATE_DEVICETARGET_H
