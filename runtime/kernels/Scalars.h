//===- Scalars.h - Element types in templates -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are templates over the element in memory (Element.h), and functions
// of elements over what it is computed as.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_SCALARS_H
#define DIVISI_RUNTIME_KERNELS_SCALARS_H

#include "divisi/runtime/kernels/Arithmetic.h"
#include "divisi/runtime/kernels/Checks.h"

#include <memory>

namespace divisi::rt {

/// The message when `dispatch` finds nothing.
inline std::unique_ptr<PreparedKernel> noKernelFor(const Checks &checks,
                                                   DType type) {
  checks.fail("has no kernel for " + std::string(stringify(type)));
  return nullptr;
}

/// What reductions of T accumulate in: f64 for f32, f32 for f16 and bf16;
/// integers wrap in their own width.
template <typename T>
using Accumulator =
    std::conditional_t<std::is_floating_point_v<T>, double, Computed<T>>;

/// Calls body(T(), R()) with the type T that the operands of `site` have and R
/// that its result has: T or SumTypeOf<T>. False if T is not among `Set`.
template <unsigned Set, typename Body>
bool dispatchSums(const CallSite &site, Body &&body) {
  return dispatch<Set>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    if (site.results[0].type == site.operands[0].type) {
      body(T(), T());
    } else {
      body(T(), SumTypeOf<T>());
    }
  });
}

/// A kernel that is a function of its pointers, or of all its context.
template <typename Body> class FunctionKernel final : public PreparedKernel {
public:
  /// Calls `body` at each launch.
  explicit FunctionKernel(Body body) : body_(std::move(body)) {}
  Status launch(LaunchContext &context) override {
    if constexpr (std::is_invocable_v<Body &, LaunchContext &>) {
      body_(context);
    } else {
      body_(context.operands, context.results, context.workspace);
    }
    return {};
  }

private:
  Body body_;
};

/// Wraps `body(operands, results, workspace)` or `body(context)`.
template <typename Body> std::unique_ptr<PreparedKernel> makeKernel(Body body) {
  return std::make_unique<FunctionKernel<Body>>(std::move(body));
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_SCALARS_H
