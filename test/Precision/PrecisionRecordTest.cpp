//===- PrecisionRecordTest.cpp - Tests of what lowering notes -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Precision/Precision.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

using namespace divisi;

static PrecisionRecord exampleRecord() {
  PrecisionRecord record;
  record.type = "f16";
  record.narrowOperators = 1;
  record.sensitive = 2;
  record.between = 3;
  record.sums = 4;
  record.joins = 5;
  record.first = 6;
  record.tables = 7;
  record.named = 8;
  record.narrowWeights = 9;
  record.wideWeights = 1;
  record.bytesBefore = 2048;
  record.bytesAfter = 1536;
  return record;
}

TEST(PrecisionRecordTest, saysWhatBecameNarrowAndWhyTheRestDidNot) {
  EXPECT_EQ(
      describe(exampleRecord()),
      "1 operator and 9 weights became f16; 35 operators stayed f32 (2 norms, "
      "softmax and the like, 3 next to those, 4 after sums, 5 residual "
      "additions, 6 first products, 7 positions and masks, 8 by --keep-f32); 1 "
      "weight stayed f32; 2.0 KiB of weights became 1.5 KiB");
  PrecisionRecord all;
  all.type = "bf16";
  all.narrowOperators = 2;
  EXPECT_EQ(describe(all), "2 operators and 0 weights became bf16; 0 B of "
                           "weights became 0 B");
  all.narrowSums = 1;
  EXPECT_EQ(describe(all), "2 operators and 0 weights became bf16; 1 sum of "
                           "products became bf16, in which their parts travel; "
                           "0 B of weights became 0 B");
}

TEST(PrecisionRecordTest, isNotedOnAModule) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module(
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  auto none = getPrecisionRecord(*module);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  setPrecisionRecord(*module, exampleRecord());
  auto read = getPrecisionRecord(*module);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, exampleRecord());
}
