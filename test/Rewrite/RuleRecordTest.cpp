//===- RuleRecordTest.cpp - Where rules were applied ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/RuleRecord.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rewrite;

TEST(RuleRecordTest, AreReadAsTheyWereNoted) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  std::vector<RuleRecord> records{
      {"a", "my.rules", "bit-exact", 2, {"/x", "/y"}, ""},
      {"b", "my.rules", "reassociates", 0, {}, "at /x: 'w' is no weight"}};
  EXPECT_EQ(getRuleRecords(*module)->size(), 0u);
  setRuleRecords(*module, records);
  EXPECT_EQ(*getRuleRecords(*module), records);
}

TEST(RuleRecordTest, SayWhereOrWhyNot) {
  EXPECT_EQ(describe({"a", "f", "c", 0, {}, ""}),
            "applied nowhere: its source does not occur");
  EXPECT_EQ(describe({"a", "f", "c", 0, {}, "at /x: 'w' is no weight"}),
            "applied nowhere; at /x: 'w' is no weight");
  EXPECT_EQ(describe({"a", "f", "c", 1, {"/x"}, ""}), "applied 1 time: /x");
  EXPECT_EQ(describe({"a", "f", "c", 9, {"1", "2", "3", "4", "5", "6"}, ""}),
            "applied 9 times: 1, 2, 3, 4, and at 2 more nodes");
}
