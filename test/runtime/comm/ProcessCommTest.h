//===- ProcessCommTest.h - The world of tests in processes ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_COMM_PROCESSCOMMTEST_H
#define DIVISI_TEST_RUNTIME_COMM_PROCESSCOMMTEST_H

#include "divisi/runtime/comm/ProcessWorld.h"

namespace divisi::rt {

/// Those of the tests, which main() connects.
std::shared_ptr<ProcessWorld> &testProcesses();

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_COMM_PROCESSCOMMTEST_H
