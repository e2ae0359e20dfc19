//===- CallQuery.h - What kernels say about calls ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_CALLQUERY_H
#define DIVISI_PASSES_LOWER_CALLQUERY_H

#include "dialects/Exec/Exec.h"
#include "divisi/Evaluate/KernelCall.h"

namespace divisi {

/// What the reference kernel says about `call`, as queryKernel().
inline std::optional<rt::KernelQuery> queryCall(exec::CallOp call) {
  return queryKernel(call.getCallee(), call.getConfig(),
                     exec::tensorTypes(call.getInputs()),
                     exec::tensorTypes(call.getOutputs()),
                     call.isFused() ? &call.getBody().front() : nullptr);
}

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_CALLQUERY_H
