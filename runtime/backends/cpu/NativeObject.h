//===- NativeObject.h - Code that is loaded ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_NATIVEOBJECT_H
#define DIVISI_RUNTIME_BACKENDS_CPU_NATIVEOBJECT_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/code/RowCode.h"

#include <cstddef>
#include <memory>
#include <span>

namespace divisi::rt::cpu {

/// A shared object of generated code, in this process as long as this lives.
/// Whoever loads one trusts who made it: see Session.
class NativeObject {
public:
  ~NativeObject();
  NativeObject(const NativeObject &) = delete;

  /// That with these bytes; one for all who load the same. They are copied to
  /// memory that nobody can change afterwards, and loaded from there.
  /// ExitCode::Invalid for what is no such object, or imports something.
  static Expected<std::shared_ptr<const NativeObject>>
  load(std::span<const std::byte> bytes);

  /// What it exports.
  RowFunction function() const { return function_; }

private:
  NativeObject() = default;
  Status open(std::span<const std::byte> bytes);

  int file_ = -1; ///< Open while it is loaded: loaders know files by name.
  void *handle_ = nullptr;
  RowFunction function_ = nullptr;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_NATIVEOBJECT_H
