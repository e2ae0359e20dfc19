//===- Answers.h - What kernels have said of calls --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiler and sessions ask about a call again and again, and oneDNN takes up
// to a tenth of a second to say what it wants for some. Models have few calls
// that differ.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_ANSWERS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_ANSWERS_H

#include "divisi/runtime/kernels/Kernel.h"

#include <map>
#include <mutex>

namespace divisi::rt::cpu {

/// All of a call that a kernel may look at before it is prepared, in bytes that
/// no other call has.
std::string keyOf(const CallSite &site);

/// By call, what a kernel says of it; nothing: it does not take it. Of so many
/// calls as any model has.
class Answers {
public:
  /// What has been said, or `ask` says.
  std::optional<KernelQuery>
  of(const CallSite &site, std::optional<KernelQuery> (*ask)(const CallSite &));

private:
  static constexpr size_t most = 10000;
  std::mutex mutex_;
  std::map<std::string, std::optional<KernelQuery>> known_;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ANSWERS_H
