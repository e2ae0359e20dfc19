//===- ModuleClusterTest.cpp - Clusters as attributes ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/ModuleCluster.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace divisi;

TEST(ModuleClusterTest, AModuleCarriesAllOfACluster) {
  mlir::MLIRContext context;
  for (llvm::StringRef preset : clusterPresets()) {
    Expected<Cluster> cluster = presetCluster(preset, 20);
    cluster->describeHost("avx2_vnni");
    auto module = mlir::parseSourceString<mlir::ModuleOp>("", &context);
    setCluster(*module, *cluster);
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    auto again = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    Expected<Cluster> found = getCluster(*again);
    ASSERT_TRUE(found) << found.status().message() << text;
    EXPECT_TRUE(*found == *cluster) << text;
    EXPECT_EQ(text.find("instruction_set = \"avx2_vnni\"") != std::string::npos,
              preset == "cpu");
    // What says nothing is not written.
    EXPECT_EQ(text.find("= 0 "), std::string::npos) << text;
    EXPECT_EQ(text.find("[]"), std::string::npos) << text;
    EXPECT_EQ(text.find("false"), std::string::npos) << text;
  }
}
