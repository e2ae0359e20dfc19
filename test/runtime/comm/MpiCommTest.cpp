//===- MpiCommTest.cpp - The world of tests in processes of MPI -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mpirun -n 3 MpiCommTest LIBRARY [--gtest_…]
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiPlugin.h"
#include "test/runtime/comm/ProcessCommTest.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

TEST(MpiCommTest, aLibraryOfAnotherBuildIsRefused) {
  auto *open =
      reinterpret_cast<OpenMpiPlugin *>(dlsym(RTLD_DEFAULT, openMpiPluginName));
  ASSERT_NE(open, nullptr);
  Status status;
  EXPECT_EQ(open("0.0.0", {"mpirun", 0, 2}, status), nullptr);
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(), HasSubstr("the library for MPI is of divisi "));
}

/// The last test, after which there is no world: the first process leaves too
/// early.
static int leaveTheWorld() {
  ProcessWorld &processes = *testProcesses();
  if (processes.self() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return 0;
  }
  Status status = processes.finish(std::chrono::milliseconds(50));
  bool isRight = status.message() ==
                 "the other processes did not end 50 ms after this "
                 "one; raise the timeout if they are busy";
  std::cerr << (isRight ? "" : "wrong: ") << status.message() << "\n";
  return isRight ? 0 : 1;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto launch = findLaunch();
  if (argc != 2 || !launch || !*launch) {
    std::cerr << "usage: mpirun -n N MpiCommTest LIBRARY\n";
    return static_cast<int>(ExitCode::Usage);
  }
  auto opened = openMpiWorld(argv[1], **launch);
  if (!opened) {
    std::cerr << opened.status().message() << "\n";
    return static_cast<int>(opened.status().code());
  }
  testProcesses() = *opened;
  int code = RUN_ALL_TESTS();
  code |= leaveTheWorld();
  Status status = testProcesses()->finish(std::chrono::seconds(60));
  if (!status.isOk()) {
    std::cerr << status.message() << "\n";
  }
  return status.isOk() ? code : static_cast<int>(status.code());
}
