//===- GradientCases.h - Programs to be derived -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_AUTODIFF_GRADIENTCASES_H
#define DIVISI_TEST_AUTODIFF_GRADIENTCASES_H

#include <string>
#include <vector>

namespace divisi::test {

/// One program, of which T is the element type.
struct GradientCase {
  std::string op;             ///< The operator that it is for: `nn.add`.
  std::string arguments;      ///< `%x: tensor<3xT>, %y: tensor<T>`
  std::string lines;          ///< That make %r of them.
  std::string result;         ///< The type of %r: `tensor<3xT>`
  double low = -2;            ///< Of the elements of arguments.
  double high = 2;            ///< Below which they are.
  std::string functions = {}; ///< Bodies that the lines run.
};

/// Those of all operators with a rule.
std::vector<GradientCase> gradientCases();
/// Those of loops, whose rule is none of one operator.
std::vector<GradientCase> loopGradientCases();

} // namespace divisi::test

#endif // DIVISI_TEST_AUTODIFF_GRADIENTCASES_H
