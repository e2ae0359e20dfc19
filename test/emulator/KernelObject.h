//===- KernelObject.h - A kernel that was made for the host -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_KERNELOBJECT_H
#define DIVISI_TEST_EMULATOR_KERNELOBJECT_H

#include "lib/Codegen/EmulatedGrid.h"

namespace divisi::emulator {

/// A shared object with a kernel, in this process as long as this lives.
class KernelObject {
public:
  /// `image` begins with an EmulatedHeader, which says how long it is.
  explicit KernelObject(const void *image);
  ~KernelObject();
  KernelObject(const KernelObject &) = delete;

  /// Whether the bytes are one, whatever it has.
  bool isOne() const { return bytes_ != 0; }
  /// How many there are.
  uint64_t bytes() const { return bytes_; }
  /// Null if the bytes are no such object.
  EmulatedFunction function() const { return function_; }
  /// How many parameters it has, of 8 bytes each.
  uint64_t parameters() const { return parameters_; }

private:
  int file_ = -1;
  void *handle_ = nullptr;
  EmulatedFunction function_ = nullptr;
  uint64_t parameters_ = 0, bytes_ = 0;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_KERNELOBJECT_H
