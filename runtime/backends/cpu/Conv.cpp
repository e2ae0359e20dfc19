//===- Conv.cpp - Convolutions by oneDNN ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Padding follows from the boxes: what the window of the first and last result
// wants beyond the operand's box lies outside of the tensor (the reference
// kernel's checks have made sure). oneDNN chooses the layouts; constant weights
// are brought there once.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/kernels/Nest.h"

#include <algorithm>
#include <array>

namespace divisi::rt::cpu {
namespace {

/// A tensor as oneDNN gets it: plain, and the layout that the primitive wants.
struct Side {
  MemoryDesc plain;
  const_dnnl_memory_desc_t wanted = nullptr;
  int64_t base = 0; ///< First element in the box.
};

struct ConvPlan {
  std::array<Side, 3> sides; ///< x, w, y.
  PrimitiveDesc primitive;
  /// To what the primitive wants of x and w, and back of y; null where that is
  /// the plain layout.
  std::array<PrimitiveDesc, 3> reorders;
  bool constant = false; ///< w is brought there once.

  int64_t bytes(size_t side) const {
    return int64_t(dnnl_memory_desc_get_size(sides[side].wanted));
  }
};

/// Where a launch finds its scratch memory.
struct ConvWorkspace {
  int64_t scratchpad = 0; ///< One for all primitives: they run in turn.
  std::array<int64_t, 3> sides = {};
  int64_t bytes = 0;
};

/// One spatial dimension.
struct Reach {
  int64_t first = 0;             ///< Index in the operand's box.
  int64_t extent = 0;            ///< How many indices are read.
  int64_t before = 0, after = 0; ///< Padding.
};

} // namespace

static ConvWorkspace layOut(const ConvPlan &plan) {
  ConvWorkspace workspace;
  WorkspaceParts parts;
  int64_t scratchpad = scratchpadBytes(plan.primitive.get());
  for (size_t i = 0; i < 3; ++i) {
    if (plan.reorders[i] && !(i == 1 && plan.constant)) {
      workspace.sides[i] = parts.add(plan.bytes(i));
      scratchpad =
          std::max(scratchpad, scratchpadBytes(plan.reorders[i].get()));
    }
  }
  workspace.scratchpad = parts.add(scratchpad);
  workspace.bytes = parts.bytes();
  return workspace;
}

namespace {

class ConvKernel final : public PreparedKernel {
public:
  ConvKernel(ConvPlan plan, const CallSite &site)
      : primitive_(plan.primitive.get()), workspace_(layOut(plan)) {
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                        DNNL_ARG_DST};
    for (size_t i = 0; i < 3; ++i) {
      const Side &side = plan.sides[i];
      if (primitive_) {
        primitive_.bind(arguments[i], side.wanted);
      }
      bases_[i] = side.base;
      if (plan.reorders[i]) {
        reorders_[i] =
            i == 2
                ? makeReorder(plan.reorders[i], side.wanted, side.plain.get())
                : makeReorder(plan.reorders[i], side.plain.get(), side.wanted);
        ready_ &= bool(reorders_[i]);
      }
    }
    if (plan.constant && plan.reorders[1] && isReady()) {
      constant_ = Bytes(size_t(plan.bytes(1)));
      Bytes scratchpad(size_t(scratchpadBytes(plan.reorders[1].get())));
      ready_ = reorders_[1].run({plain(1, site.constants[1]), constant_.data()},
                                scratchpad.data());
    }
  }

  bool isReady() const { return ready_ && primitive_; }

  Status launch(LaunchContext &context) override {
    TeamSize team(context.threads);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    void *scratchpad = workspace + workspace_.scratchpad;
    const void *x = bring(0, context.operands[0], workspace);
    const void *w = constant_.data() ? constant_.data()
                                     : bring(1, context.operands[1], workspace);
    void *result = context.results[0];
    void *y = reorders_[2] ? workspace + workspace_.sides[2] : result;
    bool done = x && w && primitive_.run({x, w, y}, scratchpad) &&
                (!reorders_[2] || reorders_[2].run({y, result}, scratchpad));
    return done ? Status() : kernelFailure();
  }

  int64_t packedBytes() const override { return constant_.size(); }

private:
  const void *plain(size_t side, const void *tensor) const {
    return static_cast<const float *>(tensor) + bases_[side];
  }

  /// The tensor in the layout that the primitive wants; null if it fails.
  const void *bring(size_t side, const void *tensor,
                    std::byte *workspace) const {
    if (!reorders_[side]) {
      return plain(side, tensor);
    }
    void *to = workspace + workspace_.sides[side];
    bool done = reorders_[side].run({plain(side, tensor), to},
                                    workspace + workspace_.scratchpad);
    return done ? to : nullptr;
  }

  Primitive primitive_;
  ConvWorkspace workspace_;
  bool ready_ = true;
  std::array<Primitive, 3> reorders_;
  Bytes constant_; ///< w, if it is packed once.
  std::array<int64_t, 3> bases_ = {};
};

} // namespace

static Reach findReach(const CallSite &site, size_t i) {
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  int64_t stride = site.attributes.getInts("strides")[i];
  int64_t dilation = site.attributes.getInts("dilations")[i];
  int64_t low = site.attributes.getInts("pads_lo")[i];
  size_t d = i + 2;
  int64_t taps = site.operands[1].global[d];
  int64_t begin = y.offset[d] * stride - low - x.offset[d];
  int64_t end = begin + (y.extents[d] - 1) * stride + (taps - 1) * dilation + 1;
  Reach reach;
  reach.first = std::clamp<int64_t>(begin, 0, x.extents[d]);
  int64_t last = std::clamp<int64_t>(end, reach.first, x.extents[d]);
  reach.extent = last - reach.first;
  reach.before = reach.first - begin;
  reach.after = end - last;
  return reach;
}

/// Whole groups, or one group with any of its channels and features.
static bool describeSides(const CallSite &site, int64_t groups, ConvPlan &plan,
                          Dims &before, Dims &after) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  int64_t perGroup = w.global[0] / groups;
  int64_t local = 1;
  if (groups > 1) {
    local = y.extents[1] / perGroup;
    if (y.offset[1] % perGroup != 0 || y.extents[1] % perGroup != 0 ||
        w.extents[1] != w.global[1]) {
      return false;
    }
  }
  int64_t channels = w.extents[1] * local;
  Dims strides = rowMajorStrides(x.extents), dims{y.extents[0], channels};
  int64_t firstChannel =
      y.offset[1] / perGroup * w.global[1] + w.offset[1] - x.offset[1];
  int64_t base =
      (y.offset[0] - x.offset[0]) * strides[0] + firstChannel * strides[1];
  for (size_t i = 0; i + 2 < x.rank(); ++i) {
    Reach reach = findReach(site, i);
    // Windows wholly in the padding are for the reference kernel.
    if (reach.extent == 0) {
      return false;
    }
    base += reach.first * strides[i + 2];
    dims.push_back(reach.extent);
    before.push_back(reach.before);
    after.push_back(reach.after);
  }
  plan.sides[0] = {describe(dims, strides), nullptr, base};
  Dims weights{y.extents[1], w.extents[1]};
  weights.insert(weights.end(), w.global.begin() + 2, w.global.end());
  int64_t feature = rowMajorStrides(w.extents)[0];
  if (groups > 1) {
    weights[0] = perGroup;
    weights.insert(weights.begin(), local);
  }
  plan.sides[1] = {describe(weights, rowMajorStrides(weights)), nullptr,
                   (y.offset[1] - w.offset[0]) * feature};
  plan.sides[2] = {describe(y.extents, rowMajorStrides(y.extents)), nullptr, 0};
  return plan.sides[0].plain && plan.sides[1].plain && plan.sides[2].plain;
}

//===----------------------------------------------------------------------===//
// conv_dgrad
//===----------------------------------------------------------------------===//

/// What one spatial dimension of a gradient reads, and how much of the operand
/// seen as a convolution's result lies before and behind the result's box.
static Reach findGradientReach(const CallSite &site, size_t i) {
  const TensorInfo &dy = site.operands[0], &dx = site.results[0];
  int64_t stride = site.attributes.getInts("strides")[i];
  int64_t dilation = site.attributes.getInts("dilations")[i];
  int64_t low = site.attributes.getInts("pads_lo")[i];
  size_t d = i + 2;
  int64_t span = (site.operands[1].global[d] - 1) * dilation;
  int64_t begin = dx.offset[d] + low, end = begin + dx.extents[d];
  int64_t first = std::max<int64_t>(0, ceilDiv(begin - span, stride));
  int64_t last = std::min(dy.global[d], (end - 1) / stride + 1);
  Reach reach;
  reach.first = first - dy.offset[d];
  reach.extent = std::max<int64_t>(0, last - first);
  reach.before = begin - first * stride;
  reach.after = (last - 1) * stride + span + 1 - end;
  return reach;
}

/// Whole groups, or one group with any of its channels and features.
static bool describeGradient(const CallSite &site, int64_t groups,
                             ConvPlan &plan, Dims &before, Dims &after) {
  const TensorInfo &dy = site.operands[0], &w = site.operands[1];
  const TensorInfo &dx = site.results[0];
  int64_t channels = w.global[1], features = w.global[0] / groups;
  int64_t local = 1, firstFeature = w.offset[0];
  int64_t perGroup = w.extents[0], results = dx.extents[1];
  if (groups > 1) {
    local = dx.extents[1] / channels;
    firstFeature = dx.offset[1] / channels * features;
    perGroup = features;
    results = channels;
    if (dx.offset[1] % channels != 0 || dx.extents[1] % channels != 0 ||
        w.offset[0] > firstFeature || w.extents[1] != channels ||
        w.offset[0] + w.extents[0] < firstFeature + local * features) {
      return false;
    }
  }
  Dims strides = rowMajorStrides(dy.extents);
  Dims dims{dx.extents[0], perGroup * local};
  int64_t base = (dx.offset[0] - dy.offset[0]) * strides[0] +
                 (firstFeature - dy.offset[1]) * strides[1];
  for (size_t i = 0; i + 2 < dy.rank(); ++i) {
    Reach reach = findGradientReach(site, i);
    if (reach.extent == 0 || reach.before < 0 || reach.after < 0) {
      return false;
    }
    base += reach.first * strides[i + 2];
    dims.push_back(reach.extent);
    before.push_back(reach.before);
    after.push_back(reach.after);
  }
  plan.sides[0] = {describe(dims, strides), nullptr, base};
  // oneDNN's weights begin with the result's channels.
  Dims rows = rowMajorStrides(w.extents);
  Dims weights{results, perGroup}, weightStrides{rows[1], rows[0]};
  weights.insert(weights.end(), w.global.begin() + 2, w.global.end());
  weightStrides.insert(weightStrides.end(), rows.begin() + 2, rows.end());
  if (groups > 1) {
    weights.insert(weights.begin(), local);
    weightStrides.insert(weightStrides.begin(), perGroup * rows[0]);
  }
  int64_t firstChannel = groups > 1 ? 0 : dx.offset[1] - w.offset[1];
  plan.sides[1] = {describe(weights, weightStrides), nullptr,
                   (firstFeature - w.offset[0]) * rows[0] +
                       firstChannel * rows[1]};
  plan.sides[2] = {describe(dx.extents, rowMajorStrides(dx.extents)), nullptr,
                   0};
  return plan.sides[0].plain && plan.sides[1].plain && plan.sides[2].plain;
}

/// The same tensor in any layout.
static MemoryDesc anyLike(const Side &side) {
  const dnnl_dims_t *dims = nullptr;
  int rank = 0;
  dnnl_memory_desc_query(side.plain.get(), dnnl_query_dims, &dims);
  dnnl_memory_desc_query(side.plain.get(), dnnl_query_ndims_s32, &rank);
  return describeAny(Dims(*dims, *dims + rank));
}

static bool makePlan(const CallSite &site, ConvPlan &plan) {
  std::string ignored;
  if (!engine() || !Checks(site, ignored).counts(2, 1) ||
      site.operands[0].type != DType::F32 || site.results[0].count() == 0 ||
      site.operands[0].count() == 0 || site.operands[1].count() == 0 ||
      !referenceBackend().find(site)->prepare(site, ignored)) {
    return false;
  }
  Dims before, after, strides = site.attributes.getInts("strides");
  Dims dilations = site.attributes.getInts("dilations");
  for (int64_t &dilation : dilations) {
    --dilation; // oneDNN counts the gaps.
  }
  bool isGradient = site.op == "nn.conv_dgrad";
  auto *describeOperands = isGradient ? describeGradient : describeSides;
  if (!describeOperands(site, site.attributes.getInt("groups"), plan, before,
                        after)) {
    return false;
  }
  MemoryDesc x = anyLike(plan.sides[0]), w = anyLike(plan.sides[1]);
  MemoryDesc y = anyLike(plan.sides[2]);
  PrimitiveAttr attr = scratchpadAttr();
  dnnl_primitive_desc_t desc = nullptr;
  auto *create = isGradient ? dnnl_deconvolution_forward_primitive_desc_create
                            : dnnl_convolution_forward_primitive_desc_create;
  auto algorithm =
      isGradient ? dnnl_deconvolution_direct : dnnl_convolution_direct;
  if (!x || !w || !y || !attr ||
      create(&desc, engine(), dnnl_forward_inference, algorithm, x.get(),
             w.get(), nullptr, y.get(), strides.data(), dilations.data(),
             before.data(), after.data(), attr.get()) != dnnl_success) {
    return false;
  }
  plan.primitive.reset(desc);
  static constexpr dnnl_query_t queries[] = {
      dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
  for (size_t i = 0; i < 3; ++i) {
    Side &side = plan.sides[i];
    side.wanted = dnnl_primitive_desc_query_md(desc, queries[i], 0);
    plan.reorders[i] = i == 2 ? describeReorder(side.wanted, side.plain.get())
                              : describeReorder(side.plain.get(), side.wanted);
    if (!plan.reorders[i] &&
        !dnnl_memory_desc_equal(side.plain.get(), side.wanted)) {
      return false;
    }
  }
  plan.constant = site.constants.size() > 1 && site.constants[1];
  return isOptimized(desc);
}

static bool acceptsConv(const CallSite &site) {
  TeamSize team(site.threads);
  ConvPlan plan;
  return makePlan(site, plan);
}

static KernelQuery queryConv(const CallSite &site) {
  TeamSize team(site.threads);
  ConvPlan plan;
  KernelQuery query;
  if (makePlan(site, plan)) {
    query.workspaceBytes = layOut(plan).bytes;
    if (plan.constant && plan.reorders[1]) {
      query.packedBytes = plan.bytes(1);
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareConv(const CallSite &site,
                                                   std::string &error) {
  TeamSize team(site.threads);
  ConvPlan plan;
  if (makePlan(site, plan)) {
    auto kernel = std::make_unique<ConvKernel>(std::move(plan), site);
    if (kernel->isReady()) {
      return kernel;
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this convolution";
  return nullptr;
}

std::span<const Kernel> convKernels() {
  static constexpr Kernel kernels[] = {
      {"nn.conv", 1, KernelUse::Whole, queryConv, prepareConv, acceptsConv},
      {"nn.conv_dgrad", 1, KernelUse::Whole, queryConv, prepareConv,
       acceptsConv},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
