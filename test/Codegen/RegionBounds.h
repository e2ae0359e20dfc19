//===- RegionBounds.h - What a region computes, and how nearly --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference kernels compute a region in f64, part by part, and for each
// element a bound of how far code in f32 may be off goes along: each function
// adds what is stated of it (FunctionErrors.h), and makes what its operands
// are off larger or smaller as its slope there is.
//
//   s = a - b     a = 1 +- 0, b = 0.9999 +- 6e-8    s = 1e-4 +- 6e-8
//   y = log s     -9.21 +- 6e-4
//
// Where the bound says nothing (a comparison of what may be equal, the
// logarithm of what may be 0) it is infinite: such elements are not compared.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_REGIONBOUNDS_H
#define DIVISI_TEST_CODEGEN_REGIONBOUNDS_H

#include "test/Codegen/RegionCall.h"

namespace divisi::test {

/// A tensor in row-major order, and by how much each element may be off.
struct Bounded {
  rt::TensorInfo info; ///< Of f64, or logical.
  std::vector<double> values, errors;
};

/// The results of `call` for operands with these elements, which are exact.
/// Stops the test where a part has no reference kernel, or the interpreter of
/// regions computes something else than its parts do.
std::vector<Bounded>
computeBounded(const RegionCall &call,
               const std::vector<std::vector<double>> &operands);

/// Whether `got`, of `type`, is what `value` with that bound may be there.
bool isWithin(double got, double value, double error, rt::DType type);

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_REGIONBOUNDS_H
