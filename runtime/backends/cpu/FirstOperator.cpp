//===- FirstOperator.cpp - The operator that a call begins with -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/FirstOperator.h"

#include <numeric>

namespace divisi::rt::cpu {

static const RegionPart *firstPart(const CallSite &call) {
  return call.region && !call.region->parts.empty() ? &call.region->parts[0]
                                                    : nullptr;
}

FirstOperator::FirstOperator(const CallSite &call)
    : part(firstPart(call)), op(part ? std::string_view(part->op) : call.op),
      attributes(part ? part->attributes : call.attributes) {
  if (part) {
    operands = part->operands;
  } else {
    operands.resize(call.operands.size());
    std::iota(operands.begin(), operands.end(), 0);
  }
}

} // namespace divisi::rt::cpu
