//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/MatmulPlan.h"

#include <algorithm>

namespace divisi::rt::cpu {
namespace {

class MatmulKernel final : public PreparedKernel {
public:
  explicit MatmulKernel(MatmulPlan &plan)
      : product_(plan.product), left_(size_t(plan.numbers[product_.swapped])),
        right_(size_t(plan.numbers[!product_.swapped])),
        blocked_(plan.blockedOffset()), scratchpad_(plan.scratchpadOffset()),
        tailAt_(plan.tailOffset()), threads_(plan.threads),
        width_(byteWidth(plan.operands[0].type)),
        resultWidth_(byteWidth(plan.site.results[0].type)),
        primitive_(plan.primitive.get()),
        blocking_(makeReorder(plan.blocking, plan.descs[RightMatrix].get(),
                              plan.wantedRight())),
        postOps_(std::move(plan.postOps)) {
    if (primitive_) {
      primitive_.bind(DNNL_ARG_SRC, plan.descs[LeftMatrix].get());
      primitive_.bind(DNNL_ARG_WEIGHTS, plan.wantedRight());
      primitive_.bind(DNNL_ARG_DST, plan.descs[ResultMatrix].get());
      postOps_.bind(primitive_);
    }
    if (primitive_ && plan.packsRight()) {
      packRight(plan);
    }
  }

  /// Makes what is left of the region; false and a message if that refuses.
  bool prepareTail(const MatmulPlan &plan, std::string &error) {
    if (plan.tail) {
      tail_ = plan.tail->kernel->prepare(plan.tail->site, error);
    }
    return !plan.tail || tail_;
  }
  bool isReady(const MatmulPlan &plan) const {
    return primitive_ && bool(plan.blocking) == bool(blocking_);
  }

  Status launch(LaunchContext &context) override {
    if (Status status = multiply(context); !status.isOk() || !tail_) {
      return status;
    }
    pointers_.assign(context.operands.begin(), context.operands.end());
    pointers_.push_back(context.results[0]);
    LaunchContext rest = context;
    rest.operands = pointers_;
    rest.workspace = static_cast<std::byte *>(context.workspace) + tailAt_;
    return tail_->launch(rest);
  }

  std::vector<PackedBytes> packed() const override {
    std::vector<PackedBytes> all = constant_.list();
    if (tail_) {
      std::ranges::copy(tail_->packed(), std::back_inserter(all));
    }
    return all;
  }
  /// Others than the product may read its right matrix.
  bool reads(size_t operand) const override {
    return !constant_ || operand != right_ || sharesRight_;
  }

private:
  /// Brings an operand to where and how the primitive reads it.
  const void *place(const Matrix &matrix, const void *operand,
                    void *workspace) const {
    void *at = locate(matrix, operand, workspace);
    if (matrix.packed) {
      matrix.copy.run(at, operand);
    }
    return static_cast<const std::byte *>(at) + matrix.batch.base * width_;
  }

  Status multiply(LaunchContext &context) {
    TeamSize team(threads_);
    const auto &[left, right, result] = product_.matrices;
    void *workspace = context.workspace;
    const void *a = place(left, context.operands[left_], workspace);
    const void *b = constant_
                        ? constant_.data()
                        : place(right, context.operands[right_], workspace);
    void *scratchpad = static_cast<std::byte *>(workspace) + scratchpad_;
    if (blocking_) {
      void *blocked = static_cast<std::byte *>(workspace) + blocked_;
      if (!blocking_.run({b, blocked}, scratchpad)) {
        return kernelFailure();
      }
      b = blocked;
    }
    auto *c =
        static_cast<std::byte *>(locate(result, context.results[0], workspace));
    pointers_.assign({a, b, c + result.batch.base * resultWidth_});
    postOps_.pointers(context.operands, pointers_);
    if (!primitive_.run(pointers_, scratchpad)) {
      return kernelFailure();
    }
    if (result.packed) {
      result.copy.run(context.results[0], c);
    }
    return {};
  }

  void packRight(const MatmulPlan &plan) {
    const Constant &constant = plan.constants[!product_.swapped];
    std::string name = plan.packedName();
    constant_ = product_.matrices[RightMatrix].packed
                    ? packCopied(plan, constant, name)
                    : PackedWeights(constant, plan.givenRight(), name,
                                    plan.wantedRight());
    primitive_ = constant_ ? std::move(primitive_) : Primitive();
    sharesRight_ = plan.sharesRight;
  }

  /// From what is copied first, so that it has rows or columns.
  PackedWeights packCopied(const MatmulPlan &plan, const Constant &constant,
                           const std::string &name) const {
    const_dnnl_memory_desc_t from = plan.descs[RightMatrix].get();
    const_dnnl_memory_desc_t to = plan.wantedRight();
    PrimitiveDesc desc = describeReorder(from, to);
    Primitive reorder = makeReorder(desc, from, to);
    return PackedWeights(constant, name, to, [&](std::byte *packed) {
      int64_t bytes = plan.operands[!product_.swapped].bytes();
      Bytes all{size_t(bytes)};
      Bytes workspace(size_t(product_.matrices[RightMatrix].bytes));
      if (!reorder || !constant.read(0, bytes, all.data())) {
        return false;
      }
      Bytes scratchpad(size_t(scratchpadBytes(desc.get())));
      return reorder.run(
          {place(product_.matrices[RightMatrix], all.data(), workspace.data()),
           packed},
          scratchpad.data());
    });
  }

  MatrixProduct product_;
  size_t left_, right_;                   ///< Operands of the call.
  int64_t blocked_, scratchpad_, tailAt_; ///< Offsets into the workspace.
  int threads_;
  int64_t width_, resultWidth_; ///< Of elements of operands and result.
  Primitive primitive_;
  Primitive blocking_; ///< Of the right matrix; empty if it is not copied.
  PostOps postOps_;
  PackedWeights constant_;
  bool sharesRight_ = false;
  std::unique_ptr<PreparedKernel> tail_; ///< Of a region.
  std::vector<const void *> pointers_;   ///< Of the present launch.
};

} // namespace

/// Which operand of the call is the right matrix.
static int rightOperand(const MatmulPlan &plan) {
  return plan.numbers[!plan.product.swapped];
}

/// Whether others than the product read its right matrix.
static bool sharesRight(const CallSite &call, const MatmulPlan &plan) {
  return call.region && call.region->countReads(rightOperand(plan)) > 1;
}

static std::optional<KernelQuery> askOneDnn(const CallSite &call) {
  bool isRegion = call.op == fusedOp;
  if (isRegion != (call.region != nullptr) || call.results.size() != 1 ||
      (isRegion && call.region->parts.empty())) {
    return std::nullopt;
  }
  MatmulPlan plan(call);
  if (!plan.make(call)) {
    return std::nullopt;
  }
  KernelQuery query;
  KernelQuery tail = plan.tail ? plan.tail->query() : KernelQuery();
  query.workspaceBytes = plan.tailOffset() + tail.workspaceBytes;
  query.packed = std::move(tail.packed);
  if (plan.packsRight()) {
    query.packed.push_back(
        PackedWeights::formOf(size_t(rightOperand(plan)), plan.packedName(),
                              plan.wantedRight(), plan.packingBytes()));
    if (!sharesRight(call, plan)) {
      query.unread = {rightOperand(plan)};
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareMatmul(const CallSite &call,
                                                     std::string &error) {
  MatmulPlan plan(call);
  if (plan.make(call)) {
    TeamSize team(plan.threads);
    plan.sharesRight = sharesRight(call, plan);
    auto kernel = std::make_unique<MatmulKernel>(plan);
    if (kernel->isReady(plan) && kernel->prepareTail(plan, error)) {
      return kernel;
    }
  }
  error = "nn.matmul: oneDNN cannot do this product";
  return nullptr;
}

std::span<const Kernel> matmulKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.matmul", 1, KernelUse::Whole, queryBy<askOneDnn>, prepareMatmul,
       acceptsBy<askOneDnn>},
      {fusedOp, 1, KernelUse::Whole, queryBy<askOneDnn>, prepareMatmul,
       acceptsBy<askOneDnn>},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
