//===- DnnRefusalTest.cpp - What the emulated cuDNN refuses ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/CudaFixture.h"
#include "test/emulator/DnnDescriptor.h"

using namespace divisi;
using namespace divisi::rt;

TEST(EmulatedDnn, RefusesGraphsThatMeanNothing) {
  using emulator::DnnOperation;
  using emulator::DnnProblem;
  DnnProblem good;
  good.tensors[1] = {1, DType::F32, {1, 4, 5, 5}, {100, 25, 5, 1}, 64};
  good.tensors[2] = {2, DType::F32, {6, 2, 3, 3}, {18, 9, 3, 1}, 64};
  good.tensors[3] = {3, DType::F32, {1, 6, 5, 5}, {150, 25, 5, 1}, 64, true};
  good.tensors[4] = {4, DType::F32, {1, 6, 1, 1}, {6, 1, 1, 1}, 64};
  good.tensors[5] = {5, DType::F32, {1, 6, 5, 5}, {150, 25, 5, 1}, 64};
  good.operations = {
      {DnnOperation::Kind::Forward, 1, 2, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {DnnOperation::Kind::Pointwise,
       3,
       4,
       5,
       {},
       {},
       {},
       {},
       CUDNN_POINTWISE_ADD}};
  EXPECT_EQ(good.refusal(), std::nullopt);
  auto refuses = [&](auto change) {
    DnnProblem bad = good;
    change(bad);
    return bad.refusal().has_value();
  };
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[1].dims[1] = 5; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[1].strides[1] = 24; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[2].type = DType::F16; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[3].dims[2] = 4; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[3].isVirtual = false; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.tensors[4].dims[1] = 2; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.operations[0].before[0] = 2; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.operations[1].right = 0; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.operations[1].left = 5; }));
  EXPECT_TRUE(refuses(
      [](auto &bad) { std::swap(bad.operations[0], bad.operations[1]); }));
}

TEST(EmulatedDnn, RefusesDescriptorsThatAreNotFilled) {
  using emulator::DnnDescriptor;
  int64_t dims[] = {1, 2, 3, 4}, strides[] = {24, 12, 4, 1}, number = 1;
  auto type = CUDNN_DATA_FLOAT;
  auto fill = [&](DnnDescriptor &tensor) {
    tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
    tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &number);
  };
  DnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  fill(tensor);
  EXPECT_TRUE(tensor.finalize()); // it has no dimensions
  EXPECT_TRUE(
      tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 4, dims));
  EXPECT_TRUE(tensor.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_INT64, 4, dims));
  EXPECT_FALSE(
      tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, dims));
  EXPECT_TRUE(tensor.finalize()); // strides are more
  EXPECT_FALSE(
      tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims));
  EXPECT_FALSE(tensor.finalize());
  EXPECT_TRUE(tensor.finalize()); // once is enough
  EXPECT_TRUE(
      tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims));
}

/// A plan of no engine, and packs of other tensors than the graph's.
TEST(EmulatedDnn, ExecutesNothingThatIsNotFinal) {
  test::CudaFixture gpu; // this thread has its context
  cudnnHandle_t handle = nullptr;
  ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
  cudnnBackendDescriptor_t plan = nullptr, pack = nullptr;
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
  cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
  EXPECT_EQ(cudnnBackendFinalize(plan), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendExecute(handle, pack, plan), CUDNN_STATUS_BAD_PARAM);
  int64_t count = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(plan,
                                     CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &count, &count),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(plan), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(plan), CUDNN_STATUS_BAD_PARAM);
  cudnnBackendDestroyDescriptor(pack);
  cudnnDestroy(handle);
}
