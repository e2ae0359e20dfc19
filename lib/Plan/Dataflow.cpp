//===- Dataflow.cpp - A program as the planner sees it --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/Dataflow.h"

#include "divisi/Support/CheckedMath.h"
#include "divisi/Support/ElementBytes.h"

namespace divisi::plan {

/// What a verifier let pass has no more bytes than an int64_t counts.
int64_t DataflowValue::bytes() const {
  return *storedBytes(*checkedProduct(shape), bits);
}

} // namespace divisi::plan
