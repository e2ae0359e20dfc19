//===- RegionCall.h - A call with a region, as data -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_REGIONCALL_H
#define DIVISI_TEST_CODEGEN_REGIONCALL_H

#include "divisi/runtime/kernels/Kernel.h"

#include <string>
#include <vector>

namespace divisi::test {

/// A call with a region, of one rank.
struct RegionCall {
  rt::Region region;
  std::vector<rt::TensorInfo> operands, results;
  rt::Attributes none;

  /// That which `site` is; it has a region.
  static RegionCall of(const rt::CallSite &site);
  rt::CallSite site(int threads = 1) const;
  /// The parts, their types and boxes, for messages.
  std::string describe() const;
  /// Whether it has floats of several types.
  bool mixesFloats() const;
  /// The same call on floats of another type; what is logical stays so, and
  /// codes of 8 bits stay codes.
  RegionCall onFloats(rt::DType type) const;
};

/// A tensor's elements as they lie in memory, from numbers in row-major order,
/// which its type can hold but for rounding.
std::vector<std::byte> storedFrom(const rt::TensorInfo &info,
                                  const std::vector<double> &numbers);
/// The other way.
std::vector<double> numbersFrom(const rt::TensorInfo &info,
                                const std::byte *stored);

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_REGIONCALL_H
