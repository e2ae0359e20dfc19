//===- Int8Conv.cpp - Convolutions of bytes by oneDNN ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN is fast where channels come last: what lies otherwise is reordered in
// each launch, which choose-formats is told. Weights that are constant are
// packed once. All of a region is one primitive, or it is left to others.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/ConvSides.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Int8Product.h"
#include "runtime/backends/cpu/PackedWeights.h"
#include "runtime/kernels/ConvBoxes.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstring>

namespace divisi::rt::cpu {
namespace {

/// A tensor, and how the primitive wants it.
struct Side {
  MemoryDesc given, wanted;
  PrimitiveDesc reorder; ///< Null where it is given as it is wanted.
  int64_t base = 0;      ///< In bytes.
  size_t operand = 0;    ///< Of the call; not of the result.
  int64_t at = 0;        ///< In the workspace, where it is reordered.
};

struct Int8ConvPlan : Int8Plan {
  Side x, w, y;
  std::vector<Side> others; ///< What post-ops read.
  Dims before, after;       ///< Padding, by spatial dimension.
  MemoryDesc bias;
  bool isConstant = false; ///< w.
  int64_t scratchpad = 0, flippedAt = 0;
  int64_t workspaceBytes = 0;

  bool make(const CallSite &call, bool hasValues);
  int64_t reorderedBytes() const;
  /// How w lies where it is given.
  GivenWeights givenWeights() const { return {w.given.get(), w.base, flips}; }

  /// What PackedForms call w, before its layout.
  std::string packedName() const {
    return weightsName() + std::to_string(w.base) + " " +
           nameOfLayout(w.given.get()) + " ";
  }

private:
  bool describeTensors(const CallSite &call, const Int8Operator &first);
  bool makePrimitive(const CallSite &call, const Int8Operator &first);
  void placeInWorkspace(const CallSite &call);
};

} // namespace

static Dims dimsOf(const_dnnl_memory_desc_t desc) {
  const dnnl_dims_t *dims = nullptr;
  int rank = 0;
  dnnl_memory_desc_query(desc, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &rank);
  return Dims(*dims, *dims + rank);
}

/// The same tensor with its channels last.
static MemoryDesc lastOf(const_dnnl_memory_desc_t given,
                         dnnl_data_type_t type) {
  TensorInfo info = TensorInfo::whole(DType::U8, dimsOf(given));
  info.format = channelsLast;
  MemoryDesc plain = describe(info.extents, stridesOf(info));
  return plain ? retyped(plain.get(), type) : nullptr;
}

/// Describes a tensor that lies as `info` says.
static bool fill(Side &side, const_dnnl_memory_desc_t given,
                 const TensorInfo &info) {
  dnnl_data_type_t type = typeOf(info.type);
  side.given = retyped(given, type);
  side.wanted =
      isChannelsLast(info) ? retyped(given, type) : lastOf(given, type);
  if (!side.given || !side.wanted) {
    return false;
  }
  side.base *= byteWidth(info.type);
  return true;
}

/// Adds what brings a tensor to where it is wanted, or the result back.
static bool addReorder(Side &side, bool isResult) {
  const_dnnl_memory_desc_t given = side.given.get(), wanted = side.wanted.get();
  side.reorder = isResult ? describeReorder(wanted, given)
                          : describeReorder(given, wanted);
  return side.reorder || dnnl_memory_desc_equal(given, wanted);
}

bool Int8ConvPlan::describeTensors(const CallSite &call,
                                   const Int8Operator &first) {
  std::vector<TensorInfo> operands;
  for (int operand : first.operands) {
    operands.push_back(call.operands[size_t(operand)]);
  }
  operands[0] = preferChannelsLast(operands[0]);
  TensorInfo result = preferChannelsLast(first.result);
  CallSite site{first.op, first.attributes, operands, {&result, 1}};
  ConvSides sides;
  if (!isConvolution(site)) {
    return false;
  }
  site.op = "nn.conv"; // with the same sides
  if (!describeSides(site, sides)) {
    return false;
  }
  result.type = call.results[0].type;
  x.operand = size_t(first.operands[0]);
  w.operand = size_t(first.operands[1]);
  x.base = sides.bases[0];
  w.base = sides.bases[1];
  if (!fill(x, sides.given[0].get(), operands[0]) ||
      !fill(y, sides.given[2].get(), result)) {
    return false;
  }
  w.given = retyped(sides.given[1].get(), dnnl_s8);
  for (const Int8Epilogue::Reader &reader : epilogue.readers()) {
    if (reader.operand) {
      TensorInfo info = preferChannelsLast(call.operands[*reader.operand]);
      Side &side = others.emplace_back();
      side.operand = *reader.operand;
      MemoryDesc given = describe(info.extents, stridesOf(info));
      if (!given || !fill(side, given.get(), info)) {
        return false;
      }
    }
  }
  before = sides.before;
  after = sides.after;
  return w.given != nullptr;
}

bool Int8ConvPlan::makePrimitive(const CallSite &call,
                                 const Int8Operator &first) {
  Dims weights = dimsOf(w.given.get()), result = dimsOf(y.given.get());
  int64_t features = result[1];
  Dims perChannel(result.size(), 1), strides(result.size(), 1);
  perChannel[1] = features;
  strides[0] = features;
  MemoryDesc channels = describe(perChannel, strides);
  MemoryDesc any = describeAny(weights, dnnl_s8);
  bias = epilogue.scales() ? describe({features}, {1}) : nullptr;
  bool isGrouped = weights.size() > result.size();
  PrimitiveAttr made = attr(call, isGrouped ? 3 : 1, channels, y.wanted.get());
  Dims steps = first.attributes.getInts("strides");
  Dims dilations = first.attributes.getInts("dilations");
  for (int64_t &dilation : dilations) {
    --dilation; // oneDNN counts the gaps.
  }
  dnnl_primitive_desc_t desc = nullptr;
  if (!made || !any ||
      !isDone(dnnl_convolution_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference, dnnl_convolution_direct,
          x.wanted.get(), any.get(), bias.get(), y.wanted.get(), steps.data(),
          dilations.data(), before.data(), after.data(), made.get()))) {
    return false;
  }
  primitive.reset(desc);
  return isOptimized(desc);
}

void Int8ConvPlan::placeInWorkspace(const CallSite &call) {
  WorkspaceParts parts;
  scratchpad = scratchpadBytes(primitive.get());
  auto place = [&](Side &side) {
    if (side.reorder) {
      side.at =
          parts.add(int64_t(dnnl_memory_desc_get_size(side.wanted.get())));
      scratchpad = std::max(scratchpad, scratchpadBytes(side.reorder.get()));
    }
  };
  place(x);
  place(y);
  std::for_each(others.begin(), others.end(), place);
  if (!isConstant) {
    place(w);
    flippedAt = parts.add(flips ? call.operands[w.operand].bytes() : 0);
  }
  scratchpad = parts.add(scratchpad);
  workspaceBytes = parts.bytes();
}

int64_t Int8ConvPlan::reorderedBytes() const {
  auto bytesOf = [](const Side &side) {
    return side.reorder ? int64_t(dnnl_memory_desc_get_size(side.wanted.get()))
                        : 0;
  };
  int64_t bytes = bytesOf(x) + bytesOf(y) + (isConstant ? 0 : bytesOf(w));
  for (const Side &side : others) {
    bytes += bytesOf(side);
  }
  return bytes;
}

bool Int8ConvPlan::make(const CallSite &call, bool hasValues) {
  Int8Operator first(call);
  if (!first.isProduct(call, "nn.conv_integer") || first.operands.size() != 2 ||
      !isPlainOrChannelsLast(call) ||
      !read(call, first, 0, {"x_zero", "w_zero"}, {1}, hasValues) ||
      zeros[1] != 0 || !describeTensors(call, first)) {
    return false;
  }
  // Four times as fast as those of f32.
  const TensorInfo &weights = call.operands[w.operand];
  threads = teamFor(call.threads, 0.5 * double(first.result.count()) *
                                      double(weights.count()) /
                                      double(weights.extents[0]));
  TeamSize team(threads);
  if (!makePrimitive(call, first)) {
    return false;
  }
  w.wanted.reset();
  dnnl_memory_desc_t wanted = nullptr;
  if (!isDone(dnnl_memory_desc_clone(
          &wanted, dnnl_primitive_desc_query_md(primitive.get(),
                                                dnnl_query_weights_md, 0)))) {
    return false;
  }
  w.wanted.reset(wanted);
  isConstant = isPackable(call, w.operand);
  if (!addReorder(x, false) || !addReorder(w, false) || !addReorder(y, true) ||
      !std::all_of(others.begin(), others.end(),
                   [](Side &side) { return addReorder(side, false); })) {
    return false;
  }
  placeInWorkspace(call);
  return true;
}

namespace {

class Int8ConvKernel final : public PreparedKernel {
public:
  Int8ConvKernel(Int8ConvPlan &plan, const CallSite &call)
      : threads_(plan.threads), scratchpad_(plan.scratchpad),
        flips_(plan.flips), flippedAt_(plan.flippedAt),
        weightBytes_(call.operands[plan.w.operand].bytes()) {
    std::string name = plan.packedName();
    primitive_ = Int8Primitive(
        plan, {plan.x.wanted.get(), plan.w.wanted.get(), plan.y.wanted.get()},
        plan.bias.get());
    ready_ = bool(primitive_);
    add(x_, plan.x, false);
    add(w_, plan.w, false);
    add(y_, plan.y, true);
    for (Side &side : plan.others) {
      add(others_.emplace_back(), side, false);
    }
    tensors_.resize(others_.size());
    if (plan.isConstant && ready_) {
      packWeights(plan, call, name);
    }
  }
  bool isReady() const { return ready_; }

  Status launch(LaunchContext &context) override {
    TeamSize team(threads_);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    const void *x = bring(x_, context.operands[x_.operand], workspace);
    const void *w = packed_ ? packed_.data() : bringWeights(context, workspace);
    for (size_t i = 0; i < others_.size(); ++i) {
      tensors_[i] =
          bring(others_[i], context.operands[others_[i].operand], workspace);
    }
    void *scratchpad = workspace + scratchpad_;
    void *result = context.results[0];
    void *y = y_.reorder ? workspace + y_.at : result;
    bool done =
        x && w && std::count(tensors_.begin(), tensors_.end(), nullptr) == 0;
    done = done &&
           primitive_.run(x, w, y, tensors_, context.operands, scratchpad) &&
           (!y_.reorder || y_.reorder.run({y, result}, scratchpad));
    return done ? Status() : kernelFailure();
  }

  std::vector<PackedBytes> packed() const override { return packed_.list(); }
  bool reads(size_t operand) const override {
    return !packed_ || operand != w_.operand;
  }

private:
  struct Brought {
    Primitive reorder; ///< Empty: it lies as it is wanted.
    int64_t base = 0, at = 0;
    size_t operand = 0;
  };

  void add(Brought &brought, const Side &side, bool isResult) {
    const_dnnl_memory_desc_t given = side.given.get(),
                             wanted = side.wanted.get();
    brought.base = side.base;
    brought.at = side.at;
    brought.operand = side.operand;
    if (side.reorder) {
      brought.reorder = isResult ? makeReorder(side.reorder, wanted, given)
                                 : makeReorder(side.reorder, given, wanted);
      ready_ &= bool(brought.reorder);
    }
  }

  /// The tensor as the primitive wants it; null if oneDNN fails.
  const void *bring(const Brought &side, const void *tensor,
                    std::byte *workspace) const {
    const void *given = static_cast<const std::byte *>(tensor) + side.base;
    if (!side.reorder) {
      return given;
    }
    void *to = workspace + side.at;
    return side.reorder.run({given, to}, workspace + scratchpad_) ? to
                                                                  : nullptr;
  }

  const void *bringWeights(const LaunchContext &context,
                           std::byte *workspace) const {
    const void *given = context.operands[w_.operand];
    if (flips_) {
      flipBytes(given, weightBytes_, workspace + flippedAt_);
      given = workspace + flippedAt_;
    }
    return bring(w_, given, workspace);
  }

  void packWeights(const Int8ConvPlan &plan, const CallSite &call,
                   const std::string &name) {
    const Constant &constant = call.constants[plan.w.operand];
    packed_ =
        PackedWeights(constant, plan.givenWeights(), name, plan.w.wanted.get());
    ready_ = bool(packed_);
  }

  int threads_;
  int64_t scratchpad_;
  bool flips_;
  int64_t flippedAt_, weightBytes_;
  bool ready_ = true;
  Int8Primitive primitive_;
  Brought x_, w_, y_;
  std::vector<Brought> others_;
  std::vector<const void *> tensors_; ///< Of the present launch.
  PackedWeights packed_;
};

} // namespace

static std::optional<KernelQuery> askOneDnn(const CallSite &site) {
  Int8ConvPlan plan;
  if (!plan.make(site, /*hasValues=*/false)) {
    return std::nullopt;
  }
  KernelQuery query;
  query.workspaceBytes = plan.workspaceBytes;
  query.reorderedBytes = plan.reorderedBytes();
  if (plan.isConstant) {
    query.packed = {PackedWeights::formOf(
        plan.w.operand, plan.packedName(), plan.w.wanted.get(),
        packingBytes(plan.givenWeights(), plan.w.wanted.get()))};
    query.unread = {int(plan.w.operand)};
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareInt8Conv(const CallSite &site,
                                                       std::string &error) {
  Int8ConvPlan plan;
  if (plan.make(site, /*hasValues=*/true)) {
    TeamSize team(plan.threads);
    auto kernel = std::make_unique<Int8ConvKernel>(plan, site);
    if (kernel->isReady()) {
      return kernel;
    }
  }
  return prepareReference(site, error);
}

std::span<const Kernel> int8ConvKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.conv_integer", 1, KernelUse::Whole, queryBy<askOneDnn>,
       prepareInt8Conv, acceptsBy<askOneDnn>, true},
      {fusedOp, 1, KernelUse::Whole, queryBy<askOneDnn>, prepareInt8Conv,
       acceptsBy<askOneDnn>, true}};
  return kernels;
}

} // namespace divisi::rt::cpu
