//===- PmixServerTest.cpp - Tests of the server of PMIx -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it does for MPI is tested by runs under torchrun.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Version.h"
#include "runtime/comm/pmix/PmixPlugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

static OpenPmixPlugin *plugin() {
  void *handle = dlopen(PMIX_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return handle ? reinterpret_cast<OpenPmixPlugin *>(
                      dlsym(handle, openPmixPluginName))
                : nullptr;
}

static PmixJob jobIn(const std::string &folder) {
  return {"divisi-test", {{"here", {0, 1}}}, 0, folder, {}};
}

TEST(PmixServerTest, anotherBuildIsRefused) {
  auto *open = plugin();
  ASSERT_TRUE(open);
  Status status;
  EXPECT_FALSE(open("none", jobIn("/tmp"), status));
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(),
              HasSubstr("the library for PMIx is of divisi "));
}

TEST(PmixServerTest, whatPmixRefusesIsSaid) {
  auto *open = plugin();
  ASSERT_TRUE(open);
  Status status;
  setenv("PMIX_MCA_psec", "absent", 1); // a way to know users that it has not
  EXPECT_FALSE(open(std::string(version()), jobIn("/tmp"), status));
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(), HasSubstr("PMIx failed: "));
}
