//===- Int8Matmul.cpp - Matrix products of bytes by oneDNN ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels become batch, m, n and k, as of products of floats. Scales may
// differ along n. All of a region is one primitive, or it is left to others.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Labels.h"
#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Int8Product.h"
#include "runtime/backends/cpu/MatmulPlan.h"

#include <algorithm>
#include <cstring>

namespace divisi::rt::cpu {
namespace {

struct Int8MatmulPlan : Int8Plan {
  MatrixProduct product;
  std::array<size_t, 3> widths = {};   ///< Of elements, in bytes.
  std::array<size_t, 2> operands = {}; ///< Left and right, of the call.
  std::array<MemoryDesc, 3> descs;
  MemoryDesc bias;
  bool isConstant = false; ///< The right matrix.
  int64_t flippedAt = 0, scratchpad = 0, workspaceBytes = 0;

  bool make(const CallSite &call, bool hasValues);
  const_dnnl_memory_desc_t wantedRight() const {
    return isConstant ? dnnl_primitive_desc_query_md(primitive.get(),
                                                     dnnl_query_weights_md, 0)
                      : descs[RightMatrix].get();
  }
  /// How the right matrix lies where it is given.
  GivenWeights givenRight() const {
    return {descs[RightMatrix].get(), product.matrices[RightMatrix].batch.base,
            flips};
  }
  /// What is in memory beside the packed right matrix while it is made.
  int64_t packingBytes(const CallSite &call) const;

  /// What PackedForms call the right matrix, before its layout.
  std::string packedName(const CallSite &call) const;

private:
  bool readProduct(const CallSite &call, const Int8Operator &first);
  bool makePrimitive(const CallSite &call);
};

} // namespace

/// Where it is copied first, the call says how.
std::string Int8MatmulPlan::packedName(const CallSite &call) const {
  const Matrix &right = product.matrices[RightMatrix];
  return weightsName() + std::to_string(right.batch.base) + " " +
         (right.packed ? keyOf(call) : nameOfLayout(descs[RightMatrix].get())) +
         " ";
}

int64_t Int8MatmulPlan::packingBytes(const CallSite &call) const {
  // Where it is copied first, all of it is.
  return product.matrices[RightMatrix].packed
             ? call.operands[operands[1]].bytes() +
                   product.matrices[RightMatrix].bytes
             : cpu::packingBytes(givenRight(), wantedRight());
}

/// The dimensions of the result that count columns; nothing if an operand that
/// scales differ along has others.
static Dims columnDims(const CallSite &site, const Attributes &attributes,
                       bool swapped) {
  std::string text = attributes.getString("labels");
  std::vector<std::string_view> labels = splitLabels(text);
  std::string_view left = labels[swapped ? 1 : 0];
  Dims dims;
  for (size_t d = 0; d < site.results[0].rank(); ++d) {
    if (left.find(labels[2][d]) == left.npos) {
      dims.push_back(int64_t(d));
    }
  }
  return dims;
}

bool Int8MatmulPlan::readProduct(const CallSite &call,
                                 const Int8Operator &first) {
  // Types are of the same widths as in the call.
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < 2; ++i) {
    infos.push_back(call.operands[size_t(first.operands[i])]);
    infos.back().type = DType::I8;
  }
  TensorInfo result = first.result;
  result.type = byteWidth(call.results[0].type) == 1 ? DType::I8 : DType::I32;
  auto isPlain = [](const TensorInfo &info) { return info.format.empty(); };
  CallSite site{"nn.matmul", first.attributes, infos, {&result, 1}};
  std::string ignored;
  Contraction contraction;
  if (!std::all_of(call.operands.begin(), call.operands.end(), isPlain) ||
      !isPlain(result) ||
      !analyzeContraction(site, Checks(site, ignored), contraction)) {
    return false;
  }
  product = planProduct(
      contraction, {UnitStride::Either, UnitStride::Either, UnitStride::Inner});
  operands = {size_t(first.operands[product.swapped]),
              size_t(first.operands[!product.swapped])};
  widths = {1, 1, size_t(byteWidth(call.results[0].type))};
  return numElements(product.batch) * product.m * product.n * product.k != 0;
}

bool Int8MatmulPlan::makePrimitive(const CallSite &call) {
  int64_t m = product.m, n = product.n, k = product.k;
  const auto &[left, right, result] = product.matrices;
  descs = {describeMatrix(product, left, m, k,
                          typeOf(call.operands[operands[0]].type)),
           describeMatrix(product, right, k, n, dnnl_s8),
           describeMatrix(product, result, m, n, typeOf(call.results[0].type))};
  if (!descs[0] || !descs[1] || !descs[2]) {
    return false;
  }
  const dnnl_dims_t *found = nullptr;
  int rank = 0;
  dnnl_memory_desc_query(descs[ResultMatrix].get(), dnnl_query_dims, &found);
  dnnl_memory_desc_query(descs[ResultMatrix].get(), dnnl_query_ndims_s32,
                         &rank);
  Dims perColumn(size_t(rank), 1), strides(size_t(rank), n);
  perColumn.back() = n;
  strides.back() = 1;
  MemoryDesc channels = describe(perColumn, strides);
  bias = epilogue.scales() ? describe(perColumn, strides) : nullptr;
  MemoryDesc any = describeAny({k, n}, dnnl_s8);
  PrimitiveAttr made =
      attr(call, 1 << (rank - 1), channels, descs[ResultMatrix].get());
  dnnl_primitive_desc_t desc = nullptr;
  if (!any || !made ||
      !isDone(dnnl_matmul_primitive_desc_create(
          &desc, engine(), descs[LeftMatrix].get(),
          isConstant ? any.get() : descs[RightMatrix].get(), bias.get(),
          descs[ResultMatrix].get(), made.get()))) {
    return false;
  }
  primitive.reset(desc);
  return isOptimized(desc);
}

bool Int8MatmulPlan::make(const CallSite &call, bool hasValues) {
  Int8Operator first(call);
  if (!sumsBytesExactly() || !first.isProduct(call, "nn.matmul_integer") ||
      !readProduct(call, first)) {
    return false;
  }
  Dims columns = columnDims(call, first.attributes, product.swapped);
  if (!read(call, first, product.swapped ? 1 : 0, {"a_zero", "b_zero"}, columns,
            hasValues)) {
    return false;
  }
  // In batches oneDNN finds no numbers per column (it reads elsewhere).
  bool isBatch = numElements(product.batch) != 1;
  bool isPacked = product.matrices[ResultMatrix].packed;
  if (std::any_of(epilogue.readers().begin(), epilogue.readers().end(),
                  [&](const Int8Epilogue::Reader &reader) {
                    return reader.operand ? isPacked : isBatch;
                  })) {
    return false;
  }
  isConstant = numElements(product.batch) == 1 && isPackable(call, operands[1]);
  if (isConstant) {
    takeRightOut(product);
  }
  // Four times as fast as those of f32.
  threads = teamFor(call.threads, 0.5 * double(numElements(product.batch)) *
                                      double(product.m) * double(product.n) *
                                      double(product.k));
  TeamSize team(threads);
  if (!makePrimitive(call)) {
    return false;
  }
  WorkspaceParts parts;
  parts.add(product.workspaceBytes);
  flippedAt =
      parts.add(flips && !isConstant ? call.operands[operands[1]].bytes() : 0);
  scratchpad = parts.add(scratchpadBytes(primitive.get()));
  workspaceBytes = parts.bytes();
  return true;
}

namespace {

class Int8MatmulKernel final : public PreparedKernel {
public:
  Int8MatmulKernel(Int8MatmulPlan &plan, const CallSite &call)
      : product_(plan.product), widths_(plan.widths), operands_(plan.operands),
        flips_(plan.flips), flippedAt_(plan.flippedAt),
        scratchpad_(plan.scratchpad), threads_(plan.threads),
        rightBytes_(call.operands[plan.operands[1]].bytes()) {
    std::string name = plan.packedName(call);
    primitive_ =
        Int8Primitive(plan,
                      {plan.descs[LeftMatrix].get(), plan.wantedRight(),
                       plan.descs[ResultMatrix].get()},
                      plan.bias.get());
    ready_ = bool(primitive_);
    for (const Int8Epilogue::Reader &reader : primitive_.epilogue().readers()) {
      if (reader.operand) {
        readers_.push_back(
            {*reader.operand,
             size_t(byteWidth(call.operands[*reader.operand].type))});
      }
    }
    tensors_.resize(readers_.size());
    if (plan.isConstant && ready_) {
      packRight(plan, call, name);
    }
  }
  bool isReady() const { return ready_; }

  Status launch(LaunchContext &context) override {
    TeamSize team(threads_);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    const void *a =
        place(LeftMatrix, context.operands[operands_[0]], workspace);
    const void *b = packed_.data();
    if (!packed_) {
      b = context.operands[operands_[1]];
      if (flips_) {
        flipBytes(b, rightBytes_, workspace + flippedAt_);
        b = workspace + flippedAt_;
      }
      b = place(RightMatrix, b, workspace);
    }
    const Matrix &result = product_.matrices[ResultMatrix];
    int64_t base = result.batch.base;
    for (size_t i = 0; i < readers_.size(); ++i) {
      tensors_[i] =
          static_cast<const std::byte *>(context.operands[readers_[i].first]) +
          base * int64_t(readers_[i].second);
    }
    auto *c =
        static_cast<std::byte *>(locate(result, context.results[0], workspace));
    if (!primitive_.run(a, b, c + base * int64_t(widths_[ResultMatrix]),
                        tensors_, context.operands, workspace + scratchpad_)) {
      return kernelFailure();
    }
    if (result.packed) {
      result.copy.run(context.results[0], c);
    }
    return {};
  }

  std::vector<PackedBytes> packed() const override { return packed_.list(); }
  bool reads(size_t operand) const override {
    return !packed_ || operand != operands_[1];
  }

private:
  /// Brings an operand to where and how the primitive reads it.
  const void *place(size_t index, const void *operand, void *workspace) const {
    const Matrix &matrix = product_.matrices[index];
    void *at = locate(matrix, operand, workspace);
    if (matrix.packed) {
      matrix.copy.run(at, operand);
    }
    return static_cast<const std::byte *>(at) + matrix.batch.base;
  }

  void packRight(const Int8MatmulPlan &plan, const CallSite &call,
                 const std::string &name) {
    const Constant &constant = call.constants[operands_[1]];
    packed_ = product_.matrices[RightMatrix].packed
                  ? packCopied(plan, constant, name)
                  : PackedWeights(constant, plan.givenRight(), name,
                                  plan.wantedRight());
    ready_ = bool(packed_);
  }

  /// From what is copied first, so that it has rows or columns.
  PackedWeights packCopied(const Int8MatmulPlan &plan, const Constant &constant,
                           const std::string &name) const {
    const_dnnl_memory_desc_t from = plan.descs[RightMatrix].get();
    const_dnnl_memory_desc_t to = plan.wantedRight();
    PrimitiveDesc desc = describeReorder(from, to);
    Primitive reorder = makeReorder(desc, from, to);
    return PackedWeights(constant, name, to, [&](std::byte *packed) {
      Bytes all{size_t(rightBytes_)};
      Bytes workspace(size_t(product_.matrices[RightMatrix].bytes));
      if (!constant.read(0, rightBytes_, all.data())) {
        return false;
      }
      if (flips_) {
        flipBytes(all.data(), rightBytes_, all.data());
      }
      const void *given = place(RightMatrix, all.data(), workspace.data());
      if (dnnl_memory_desc_equal(from, to)) {
        std::memcpy(packed, given, dnnl_memory_desc_get_size(to));
        return true;
      }
      Bytes scratchpad(desc ? size_t(scratchpadBytes(desc.get())) : 0);
      return reorder && reorder.run({given, packed}, scratchpad.data());
    });
  }

  MatrixProduct product_;
  std::array<size_t, 3> widths_;
  std::array<size_t, 2> operands_;
  bool flips_;
  int64_t flippedAt_, scratchpad_;
  int threads_;
  int64_t rightBytes_;
  bool ready_ = true;
  Int8Primitive primitive_;
  std::vector<std::pair<size_t, size_t>> readers_; ///< Operand, bytes each.
  std::vector<const void *> tensors_;              ///< Of the present launch.
  PackedWeights packed_;
};

} // namespace

static std::optional<KernelQuery> askOneDnn(const CallSite &site) {
  Int8MatmulPlan plan;
  if (!plan.make(site, /*hasValues=*/false)) {
    return std::nullopt;
  }
  KernelQuery query;
  query.workspaceBytes = plan.workspaceBytes;
  if (plan.isConstant) {
    query.packed = {
        PackedWeights::formOf(plan.operands[1], plan.packedName(site),
                              plan.wantedRight(), plan.packingBytes(site))};
    query.unread = {int(plan.operands[1])};
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareInt8Matmul(const CallSite &site,
                                                         std::string &error) {
  Int8MatmulPlan plan;
  if (plan.make(site, /*hasValues=*/true)) {
    TeamSize team(plan.threads);
    auto kernel = std::make_unique<Int8MatmulKernel>(plan, site);
    if (kernel->isReady()) {
      return kernel;
    }
  }
  return prepareReference(site, error);
}

std::span<const Kernel> int8MatmulKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.matmul_integer", 1, KernelUse::Whole, queryBy<askOneDnn>,
       prepareInt8Matmul, acceptsBy<askOneDnn>},
      {fusedOp, 1, KernelUse::Whole, queryBy<askOneDnn>, prepareInt8Matmul,
       acceptsBy<askOneDnn>}};
  return kernels;
}

} // namespace divisi::rt::cpu
