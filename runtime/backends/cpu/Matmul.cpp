//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels become batch, m, n and k (runtime/kernels/Contraction.h); oneDNN
// takes any strides for the batch, and rows or columns that are contiguous. A
// constant right matrix is brought once to the layout that oneDNN likes best.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/kernels/Contraction.h"

namespace divisi::rt::cpu {
namespace {

struct MatmulPlan {
  MatrixProduct product;
  std::array<MemoryDesc, 3> descs;
  PrimitiveDesc primitive;
  bool constantRight = false;
  int threads = 1;

  /// The right matrix as the primitive wants it.
  const_dnnl_memory_desc_t wantedRight() const {
    return constantRight ? dnnl_primitive_desc_query_md(
                               primitive.get(), dnnl_query_weights_md, 0)
                         : descs[RightMatrix].get();
  }
  bool packsRight() const {
    return constantRight &&
           !dnnl_memory_desc_equal(descs[RightMatrix].get(), wantedRight());
  }
  /// The packed matrices come first in the workspace.
  int64_t scratchpadOffset() const {
    WorkspaceParts parts;
    parts.add(product.workspaceBytes);
    return parts.bytes();
  }
};

class MatmulKernel final : public PreparedKernel {
public:
  MatmulKernel(MatmulPlan plan, const CallSite &site)
      : product_(plan.product), scratchpad_(plan.scratchpadOffset()),
        threads_(plan.threads), primitive_(plan.primitive.get()) {
    if (primitive_) {
      primitive_.bind(DNNL_ARG_SRC, plan.descs[LeftMatrix].get());
      primitive_.bind(DNNL_ARG_WEIGHTS, plan.wantedRight());
      primitive_.bind(DNNL_ARG_DST, plan.descs[ResultMatrix].get());
    }
    if (primitive_ && plan.packsRight()) {
      packRight(plan, site);
    }
  }

  bool isReady() const { return bool(primitive_); }

  Status launch(LaunchContext &context) override {
    TeamSize team(threads_);
    const auto &[left, right, result] = product_.matrices;
    void *workspace = context.workspace;
    const float *a = place(left, context.operands[product_.swapped], workspace);
    const float *b =
        constant_
            ? static_cast<const float *>(constant_.data())
            : place(right, context.operands[!product_.swapped], workspace);
    auto *c =
        static_cast<float *>(locate(result, context.results[0], workspace));
    if (!primitive_.run({a, b, c + result.batch.base},
                        static_cast<std::byte *>(workspace) + scratchpad_)) {
      return kernelFailure();
    }
    if (result.packed) {
      result.copy.run(context.results[0], c);
    }
    return {};
  }

  int64_t packedBytes() const override { return constant_.size(); }
  bool reads(size_t operand) const override {
    return !constant_ || operand != size_t(!product_.swapped);
  }

private:
  /// Brings an operand to where and how the primitive reads it.
  static const float *place(const Matrix &matrix, const void *operand,
                            void *workspace) {
    void *at = locate(matrix, operand, workspace);
    if (matrix.packed) {
      matrix.copy.run(at, operand);
    }
    return static_cast<const float *>(at) + matrix.batch.base;
  }

  void packRight(const MatmulPlan &plan, const CallSite &site) {
    const_dnnl_memory_desc_t from = plan.descs[RightMatrix].get();
    const_dnnl_memory_desc_t to = plan.wantedRight();
    PrimitiveDesc desc = describeReorder(from, to);
    Primitive reorder = makeReorder(desc, from, to);
    if (!reorder) {
      primitive_ = Primitive();
      return;
    }
    const Constant &constant = site.constants[!product_.swapped];
    const Matrix &right = product_.matrices[RightMatrix];
    // Where it is copied first, the call says how.
    std::string name = "matmul " + std::to_string(right.batch.base) + " " +
                       (right.packed ? keyOf(site) : nameOfLayout(from)) + " ";
    constant_ = PackedWeights(constant, name, to, [&](std::byte *packed) {
      Bytes workspace(size_t(product_.workspaceBytes));
      Bytes scratchpad(size_t(scratchpadBytes(desc.get())));
      return reorder.run(
          {place(right, constant.data, workspace.data()), packed},
          scratchpad.data());
    });
    primitive_ = constant_ ? std::move(primitive_) : Primitive();
  }

  MatrixProduct product_;
  int64_t scratchpad_; ///< Offset into the workspace.
  int threads_;
  Primitive primitive_;
  PackedWeights constant_;
};

} // namespace

static MemoryDesc describeMatrix(const MatrixProduct &product,
                                 const Matrix &matrix, int64_t rows,
                                 int64_t columns) {
  Dims dims, strides;
  for (size_t i = 0; i < product.batch.size(); ++i) {
    if (product.batch[i] != 1) {
      dims.push_back(product.batch[i]);
      strides.push_back(matrix.batch.strides[i]);
    }
  }
  dims.insert(dims.end(), {rows, columns});
  // The stride of an extent of 1 is free; these look like plain matrices.
  int64_t outer = rows == 1 && matrix.inner == 1 ? columns : matrix.outer;
  int64_t inner = columns == 1 && matrix.outer == 1 ? rows : matrix.inner;
  strides.insert(strides.end(), {outer, inner});
  return describe(dims, strides);
}

static bool isConstant(const CallSite &site, size_t operand) {
  return operand < site.constants.size() && site.constants[operand];
}

/// With a constant right matrix the product is an inner product layer, for
/// which oneDNN has blocked weights where its matmul has not: twice as fast on
/// AVX2. Replaces the right matrix by its transpose.
static bool makeInnerProduct(MatmulPlan &plan) {
  const MatrixProduct &product = plan.product;
  const Matrix &right = product.matrices[RightMatrix];
  Dims dims{product.n, product.k};
  MemoryDesc plain = describe(dims, {right.inner, right.outer});
  MemoryDesc any = describeAny(dims);
  PrimitiveAttr attr = scratchpadAttr();
  dnnl_primitive_desc_t desc = nullptr;
  if (!plan.descs[LeftMatrix] || !plan.descs[ResultMatrix] || !plain || !any ||
      !attr ||
      dnnl_inner_product_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference, plan.descs[LeftMatrix].get(),
          any.get(), nullptr, plan.descs[ResultMatrix].get(),
          attr.get()) != dnnl_success) {
    return false;
  }
  PrimitiveDesc owner(desc);
  if (!isOptimized(desc)) {
    return false;
  }
  plan.primitive = std::move(owner);
  plan.descs[RightMatrix] = std::move(plain);
  return true;
}

static bool makePlan(const CallSite &site, MatmulPlan &plan) {
  std::string ignored;
  Contraction contraction;
  if (!engine() ||
      !analyzeContraction(site, Checks(site, ignored), contraction) ||
      site.results[0].type != DType::F32 ||
      site.operands[0].type != DType::F32) {
    return false;
  }
  plan.product = planProduct(
      contraction, {UnitStride::Either, UnitStride::Either, UnitStride::Inner});
  const MatrixProduct &product = plan.product;
  int64_t m = product.m, n = product.n, k = product.k;
  if (numElements(product.batch) * m * n * k == 0) {
    return false;
  }
  plan.threads =
      teamFor(site.threads, 2.0 * double(numElements(product.batch)) *
                                double(m) * double(n) * double(k));
  TeamSize team(plan.threads);
  plan.constantRight =
      numElements(product.batch) == 1 && isConstant(site, !product.swapped);
  plan.descs = {describeMatrix(product, product.matrices[LeftMatrix], m, k),
                describeMatrix(product, product.matrices[RightMatrix], k, n),
                describeMatrix(product, product.matrices[ResultMatrix], m, n)};
  if (plan.constantRight && makeInnerProduct(plan)) {
    return true;
  }
  MemoryDesc any = describeAny({k, n});
  PrimitiveAttr attr = scratchpadAttr();
  const auto &[a, b, c] = plan.descs;
  dnnl_primitive_desc_t desc = nullptr;
  if (!a || !b || !c || !any || !attr ||
      dnnl_matmul_primitive_desc_create(
          &desc, engine(), a.get(), plan.constantRight ? any.get() : b.get(),
          nullptr, c.get(), attr.get()) != dnnl_success) {
    return false;
  }
  plan.primitive.reset(desc);
  return isOptimized(desc);
}

static bool acceptsMatmul(const CallSite &site) {
  MatmulPlan plan;
  return makePlan(site, plan);
}

static KernelQuery queryMatmul(const CallSite &site) {
  MatmulPlan plan;
  KernelQuery query;
  if (makePlan(site, plan)) {
    query.workspaceBytes =
        plan.scratchpadOffset() + scratchpadBytes(plan.primitive.get());
    if (plan.packsRight()) {
      query.packedBytes =
          int64_t(dnnl_memory_desc_get_size(plan.wantedRight()));
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareMatmul(const CallSite &site,
                                                     std::string &error) {
  MatmulPlan plan;
  if (makePlan(site, plan)) {
    TeamSize team(plan.threads);
    auto kernel = std::make_unique<MatmulKernel>(std::move(plan), site);
    if (kernel->isReady()) {
      return kernel;
    }
  }
  error = "nn.matmul: oneDNN cannot do this product";
  return nullptr;
}

std::span<const Kernel> matmulKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.matmul", 1, KernelUse::Whole, queryMatmul, prepareMatmul,
       acceptsMatmul},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
