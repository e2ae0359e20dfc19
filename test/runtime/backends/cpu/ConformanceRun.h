//===- ConformanceRun.h - Run a case by a backend ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCERUN_H
#define DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCERUN_H

#include "test/runtime/backends/cpu/ConformanceCases.h"
#include "test/runtime/kernels/Tensors.h"

#include <gtest/gtest.h>

namespace divisi::rt::test {

/// A backend under test.
struct Subject {
  const char *name;
  const Backend &(*get)();
  int threads;
};

/// For GoogleTest's messages.
inline void PrintTo(const Subject &subject, std::ostream *out) {
  *out << subject.name;
}

/// All backends, with one thread and with several.
std::vector<Subject> subjects();

/// The same each time.
std::vector<Tensor> randomOperands(const Case &test);

/// The part of a whole tensor that a box holds.
Tensor cut(const Tensor &whole, const TensorInfo &box);

/// Whether the reference kernel takes these boxes.
bool canPrepare(const Subject &subject, const Case &test,
                const std::vector<TensorInfo> &operands,
                const TensorInfo &result);

/// How a call is made.
struct CallKind {
  bool constants = false, checksIndices = true;
};
/// What it ends with.
struct CallEnd {
  Tensor result;
  std::optional<BadIndex> badIndex;
};

/// Runs on boxes. Memory is filled with rubbish first.
CallEnd callOnBoxes(const Subject &subject, const Case &test,
                    const std::vector<TensorInfo> &boxes,
                    const TensorInfo &resultBox,
                    const std::vector<Tensor> &wholes, CallKind kind);

/// The same where no index is bad.
Tensor runBoxes(const Subject &subject, const Case &test,
                const std::vector<TensorInfo> &boxes,
                const TensorInfo &resultBox, const std::vector<Tensor> &wholes,
                bool constants = false);

/// Fails where elements differ by more than ways of rounding do.
void expectSame(const Tensor &got, const Tensor &expected);

/// Trims the operands' boxes, from both ends of every dimension that is not
/// partial, to what the kernel needs for `result`.
std::vector<TensorInfo> trimOperands(const Subject &subject, const Case &test,
                                     const TensorInfo &result);

/// By the reference, on whole tensors.
Tensor expectedResult(const Case &test, const std::vector<Tensor> &operands);

/// The cases of which `hold` says so.
std::vector<Case> casesThat(bool (*hold)(const Case &));

/// The name of an instance.
std::string
nameOf(const testing::TestParamInfo<std::tuple<Subject, Case>> &info);

} // namespace divisi::rt::test

#endif // DIVISI_TEST_RUNTIME_BACKENDS_CPU_CONFORMANCERUN_H
