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

#include <optional>
#include <string>

namespace divisi::rt::cpu {

/// All of a call that a kernel may look at before it is prepared, in bytes that
/// no other call has.
std::string keyOf(const CallSite &site);

/// What a kernel needs for a call; nothing if it does not take it.
using AskKernel = std::optional<KernelQuery> (*)(const CallSite &);

/// What `ask` says of `site`, or has said of a call with the same key. By any
/// thread. Answers are remembered by the process, up to as many as any model
/// has calls: no owner of all who ask (passes, sessions, kernels of regions)
/// could keep them.
std::optional<KernelQuery> answerOf(const CallSite &site, AskKernel ask);

/// Kernel::accepts of the kernel whose answers `ask` gives.
template <AskKernel ask> bool acceptsBy(const CallSite &site) {
  return answerOf(site, ask).has_value();
}

/// Kernel::query of the kernel whose answers `ask` gives.
template <AskKernel ask> KernelQuery queryBy(const CallSite &site) {
  return answerOf(site, ask).value_or(KernelQuery());
}

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ANSWERS_H
