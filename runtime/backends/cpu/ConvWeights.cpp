//===- ConvWeights.cpp - Gradients of convolutions by their weights -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a convolution by its weights is a convolution of the operand
// and the gradient whose images are swapped with their channels, and oneDNN has
// a primitive for it that swaps nothing:
//
//   %a = transpose %x       [n, c, …] -> [c, n, …]
//   %b = transpose %dy      [n, k, …] -> [k, n, …]
//   %d = conv %a, %b        strides and dilations of the convolution swapped
//   %dw = transpose %d      [c, k, …] -> [k, c, …]
//
// The last of these may be missing: what devices have parts of is summed first.
//
// Blocks of output channels are made one by one, each by one thread: a
// primitive that several threads work on divides its sums among them, and so
// has other bits with another number of threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/ConvBoxes.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <array>

namespace divisi::rt::cpu {
namespace {

/// Output channels of a block at least, and blocks at most.
constexpr int64_t leastChannels = 32, mostBlocks = 16;

/// The convolution whose gradient by the weights is asked for.
struct Geometry {
  TensorInfo x, dy, dw; ///< Whole boxes, [n, c, …], [n, k, …], [k, c, …].
  Dims steps; ///< Of dw, from an index to the next, in elements of the result.
  Dims strides, gaps; ///< oneDNN counts the gaps of dilations.
  Dims before, after; ///< Padding.
};

/// One block's primitive, and how its tensors come to it: x, dy, dw.
struct BlockPlan {
  PrimitiveDesc primitive;
  std::array<MemoryDesc, 3> given;
  std::array<const_dnnl_memory_desc_t, 3> wanted = {};
  std::array<PrimitiveDesc, 3> reorders; ///< Null where they are given.

  int64_t bytes(size_t side) const {
    return int64_t(dnnl_memory_desc_get_size(wanted[side]));
  }
};

/// All blocks have `channels` output channels, but for the last one.
struct WeightsPlan {
  Geometry geometry;
  int64_t channels = 0, blocks = 0;
  BlockPlan block, last; ///< `last` is empty if it is as long as the others.
  PrimitiveDesc wholeX;  ///< Brings x for all of them; null if it is given.

  /// A launch's scratch memory: x; then of each thread scratchpad, dy, dw.
  struct Workspace {
    int64_t x = 0, perThread = 0, scratchpad = 0, bytes = 0;
    std::array<int64_t, 3> sides = {};
  };
  Workspace workspace(int threads) const;
};

} // namespace

/// What a region of the file's head is of; nothing for others.
static const RegionPart *findConvolution(const CallSite &site) {
  if (site.op != fusedOp || !site.region || site.operands.size() != 2 ||
      site.results.size() != 1) {
    return nullptr;
  }
  const std::vector<RegionPart> &parts = site.region->parts;
  bool isSwapped = parts.size() == 4;
  if (!isSwapped && parts.size() != 3) {
    return nullptr;
  }
  auto swaps = [](const RegionPart &part) {
    Dims order = part.attributes.getInts("permutation");
    for (size_t dim = 2; dim < order.size(); ++dim) {
      if (order[dim] != int64_t(dim)) {
        return false;
      }
    }
    return part.op == "nn.transpose" && order.size() > 2 && order[0] == 1 &&
           order[1] == 0;
  };
  bool isRight =
      swaps(parts[0]) && swaps(parts[1]) && parts[2].op == "nn.conv" &&
      parts[0].operands == std::vector{0} &&
      parts[1].operands == std::vector{1} &&
      parts[2].operands == std::vector{2, 3} &&
      site.region->results == std::vector{isSwapped ? 5 : 4} &&
      (!isSwapped || (swaps(parts[3]) && parts[3].operands == std::vector{4}));
  return isRight ? &parts[2] : nullptr;
}

/// Of boxes that are used whole, by one group; nothing for others.
static std::optional<Geometry> geometryOf(const CallSite &site) {
  const RegionPart *conv = findConvolution(site);
  if (!conv) {
    return std::nullopt;
  }
  const std::vector<RegionPart> &parts = site.region->parts;
  std::array<TensorInfo, 2> swapped = {parts[0].results[0],
                                       parts[1].results[0]};
  CallSite inner{conv->op, conv->attributes, swapped, conv->results};
  if (swapped[0].type != DType::F32 || swapped[1].type != DType::F32 ||
      conv->results[0].type != DType::F32 || !isConvolution(inner)) {
    return std::nullopt;
  }
  std::optional<ConvBoxes> boxes = ConvBoxes::of(inner);
  if (!boxes || boxes->groups != 1) {
    return std::nullopt;
  }
  for (size_t side = 0; side < 2; ++side) {
    if (boxes->sides[side].base != 0 ||
        boxes->sides[side].extents != swapped[side].extents) {
      return std::nullopt;
    }
  }
  TensorInfo dw = site.results[0];
  Dims steps = stridesOf(dw);
  if (parts.size() == 3) {
    std::swap(dw.global[0], dw.global[1]);
    std::swap(dw.offset[0], dw.offset[1]);
    std::swap(dw.extents[0], dw.extents[1]);
    std::swap(steps[0], steps[1]);
  }
  Geometry geometry{site.operands[0],
                    site.operands[1],
                    dw,
                    steps,
                    conv->attributes.getInts("dilations"),
                    conv->attributes.getInts("strides"),
                    boxes->before,
                    {}};
  for (size_t dim = 0; dim < geometry.strides.size(); ++dim) {
    int64_t taps = geometry.dw.extents[dim + 2];
    int64_t dilation = geometry.gaps[dim]--;
    int64_t room = geometry.x.extents[dim + 2] + geometry.before[dim] -
                   (taps - 1) * dilation - 1;
    int64_t steps = geometry.dy.extents[dim + 2] - 1;
    int64_t after = std::max<int64_t>(0, steps * geometry.strides[dim] - room);
    if (room + after < 0 || (room + after) / geometry.strides[dim] != steps) {
      return std::nullopt;
    }
    geometry.after.push_back(after);
  }
  return geometry;
}

/// Where they lie, of `channels` output channels.
static std::array<MemoryDesc, 3> describeBlock(const Geometry &geometry,
                                               int64_t channels) {
  Dims dy = geometry.dy.extents, dw = geometry.dw.extents;
  dy[1] = dw[0] = channels;
  return {describe(geometry.x.extents, stridesOf(geometry.x)),
          describe(dy, stridesOf(geometry.dy)), describe(dw, geometry.steps)};
}

static bool makeBlock(const Geometry &geometry, int64_t channels,
                      BlockPlan &block) {
  block.given = describeBlock(geometry, channels);
  Dims dy = geometry.dy.extents, dw = geometry.dw.extents;
  dy[1] = dw[0] = channels;
  MemoryDesc anyX = describeAny(geometry.x.extents), anyDy = describeAny(dy),
             anyDw = describeAny(dw);
  PrimitiveAttr attr = scratchpadAttr();
  if (!attr || !anyX || !anyDy || !anyDw) {
    return false;
  }
  // What channels last has no channels cut off from it stays as it is.
  const_dnnl_memory_desc_t x =
      isChannelsLast(geometry.x) ? block.given[0].get() : anyX.get();
  TeamSize team(1);
  dnnl_primitive_desc_t desc = nullptr;
  auto create = [&](const_dnnl_memory_desc_t operand) {
    dnnl_primitive_desc_t hint = nullptr;
    if (!isDone(dnnl_convolution_forward_primitive_desc_create(
            &hint, engine(), dnnl_forward_training, dnnl_convolution_direct,
            operand, anyDw.get(), nullptr, anyDy.get(), geometry.strides.data(),
            geometry.gaps.data(), geometry.before.data(), geometry.after.data(),
            attr.get()))) {
      return false;
    }
    PrimitiveDesc owned(hint);
    bool isMade =
        isDone(dnnl_convolution_backward_weights_primitive_desc_create(
            &desc, engine(), dnnl_convolution_direct, operand, anyDw.get(),
            nullptr, anyDy.get(), geometry.strides.data(), geometry.gaps.data(),
            geometry.before.data(), geometry.after.data(), hint, attr.get()));
    block.primitive = PrimitiveDesc(isMade ? desc : nullptr);
    return isMade && isOptimized(desc);
  };
  if (!create(x) && (x == anyX.get() || !create(anyX.get()))) {
    return false;
  }
  const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_diff_dst_md,
                                  dnnl_query_diff_weights_md};
  for (size_t side = 0; side < 3; ++side) {
    block.wanted[side] =
        dnnl_primitive_desc_query_md(block.primitive.get(), queries[side], 0);
    block.reorders[side] =
        side == 2
            ? describeReorder(block.wanted[side], block.given[side].get())
            : describeReorder(block.given[side].get(), block.wanted[side]);
  }
  return true;
}

static bool makePlan(const CallSite &site, WeightsPlan &plan) {
  std::optional<Geometry> geometry = geometryOf(site);
  if (!engine() || !geometry || geometry->dw.count() == 0 ||
      geometry->x.count() == 0) {
    return false;
  }
  plan.geometry = std::move(*geometry);
  int64_t all = plan.geometry.dw.extents[0];
  int64_t blocks = std::clamp<int64_t>(all / leastChannels, 1, mostBlocks);
  // Whole vectors, but for the last block.
  plan.channels = std::min(all, ceilDiv(ceilDiv(all, blocks), 16) * 16);
  plan.blocks = ceilDiv(all, plan.channels);
  int64_t rest = all - (plan.blocks - 1) * plan.channels;
  if (!makeBlock(plan.geometry, plan.channels, plan.block) ||
      (rest != plan.channels && !makeBlock(plan.geometry, rest, plan.last))) {
    return false;
  }
  bool isAlike =
      !plan.last.primitive ||
      dnnl_memory_desc_equal(plan.block.wanted[0], plan.last.wanted[0]);
  return isAlike;
}

WeightsPlan::Workspace WeightsPlan::workspace(int threads) const {
  Workspace workspace;
  WorkspaceParts own;
  for (const BlockPlan *each : {&block, &last}) {
    if (!each->primitive) {
      continue;
    }
    workspace.scratchpad =
        std::max(workspace.scratchpad, scratchpadBytes(each->primitive.get()));
    for (size_t side = 0; side < 3; ++side) {
      if (each->reorders[side]) {
        workspace.scratchpad = std::max(
            workspace.scratchpad, scratchpadBytes(each->reorders[side].get()));
        workspace.sides[side] =
            std::max(workspace.sides[side], each->bytes(side));
      }
    }
  }
  WorkspaceParts shared;
  workspace.x = shared.add(workspace.sides[0]);
  workspace.scratchpad = own.add(workspace.scratchpad);
  workspace.sides[1] = own.add(workspace.sides[1]);
  workspace.sides[2] = own.add(workspace.sides[2]);
  workspace.perThread = own.bytes();
  workspace.bytes = shared.bytes() + threads * workspace.perThread;
  return workspace;
}

namespace {

/// A block's primitives, of one thread at a time.
class BlockKernel {
public:
  BlockKernel() = default;
  explicit BlockKernel(const BlockPlan &plan)
      : primitive_(plan.primitive.get()) {
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST,
                                        DNNL_ARG_DIFF_WEIGHTS};
    for (size_t side = 0; side < 3 && primitive_; ++side) {
      primitive_.bind(arguments[side], plan.wanted[side]);
    }
    ready_ = bool(primitive_);
    for (size_t side = 1; side < 3; ++side) {
      if (plan.reorders[side]) {
        const_dnnl_memory_desc_t given = plan.given[side].get();
        reorders_[side - 1] =
            side == 2 ? makeReorder(plan.reorders[2], plan.wanted[2], given)
                      : makeReorder(plan.reorders[1], given, plan.wanted[1]);
        ready_ = ready_ && reorders_[side - 1];
      }
    }
  }
  bool isReady() const { return ready_; }

  bool run(const float *x, const float *dy, float *dw, std::byte *own,
           const WeightsPlan::Workspace &at) const {
    void *scratchpad = own + at.scratchpad;
    const void *gradient = dy;
    if (reorders_[0]) {
      gradient = own + at.sides[1];
      if (!reorders_[0].run({dy, gradient}, scratchpad)) {
        return false;
      }
    }
    void *to = reorders_[1] ? static_cast<void *>(own + at.sides[2]) : dw;
    return primitive_.run({x, gradient, to}, scratchpad) &&
           (!reorders_[1] || reorders_[1].run({to, dw}, scratchpad));
  }

private:
  Primitive primitive_;
  std::array<Primitive, 2> reorders_; ///< Of dy and dw.
  bool ready_ = false;
};

class WeightsKernel final : public PreparedKernel {
public:
  WeightsKernel(const WeightsPlan &plan, int threads)
      : at_(plan.workspace(threads)), blocks_(plan.blocks), threads_(threads),
        stepDy_(plan.channels * stridesOf(plan.geometry.dy)[1]),
        stepDw_(plan.channels * plan.geometry.steps[0]) {
    for (int thread = 0; thread < threads; ++thread) {
      kernels_.emplace_back(plan.block);
      ready_ = ready_ && kernels_.back().isReady();
    }
    if (plan.last.primitive) {
      last_ = BlockKernel(plan.last);
      hasLast_ = true;
      ready_ = ready_ && last_.isReady();
    }
    if (plan.block.reorders[0]) {
      TeamSize team(threads);
      // Made again: of a team, not of one thread.
      PrimitiveDesc desc =
          describeReorder(plan.block.given[0].get(), plan.block.wanted[0]);
      bring_ =
          makeReorder(desc, plan.block.given[0].get(), plan.block.wanted[0]);
      brings_ = true;
      ready_ = ready_ && bring_;
      scratch_ = Bytes(size_t(scratchpadBytes(desc.get())));
    }
  }
  bool isReady() const { return ready_; }

  Status launch(LaunchContext &context) override {
    auto *workspace = static_cast<std::byte *>(context.workspace);
    auto *x = static_cast<const float *>(context.operands[0]);
    auto *dy = static_cast<const float *>(context.operands[1]);
    auto *dw = static_cast<float *>(context.results[0]);
    if (brings_) {
      TeamSize team(threads_);
      void *to = workspace + at_.x;
      if (!bring_.run({x, to}, scratch_.data())) {
        return kernelFailure();
      }
      x = static_cast<const float *>(to);
    }
    std::byte *own = workspace + (at_.bytes - threads_ * at_.perThread);
    bool failed = false;
    TeamSize team(threads_);
#pragma omp parallel for schedule(static, 1) reduction(|| : failed)
    for (int thread = 0; thread < threads_; ++thread) {
      for (int64_t block = thread; block < blocks_; block += threads_) {
        bool isLast = hasLast_ && block + 1 == blocks_;
        const BlockKernel &kernel = isLast ? last_ : kernels_[thread];
        failed = !kernel.run(x, dy + block * stepDy_, dw + block * stepDw_,
                             own + thread * at_.perThread, at_) ||
                 failed;
      }
    }
    return failed ? kernelFailure() : Status();
  }

private:
  WeightsPlan::Workspace at_;
  int64_t blocks_;
  int threads_;
  int64_t stepDy_, stepDw_;          ///< From block to block, in elements.
  std::vector<BlockKernel> kernels_; ///< Per thread.
  BlockKernel last_;
  Primitive bring_; ///< x, for all blocks.
  Bytes scratch_;   ///< Of bring_.
  bool hasLast_ = false, brings_ = false, ready_ = true;
};

} // namespace

static std::optional<KernelQuery> askOneDnn(const CallSite &site) {
  WeightsPlan plan;
  if (!makePlan(site, plan)) {
    return std::nullopt;
  }
  KernelQuery query;
  query.workspaceBytes = plan.workspace(site.threads).bytes;
  const TensorInfo *tensors[] = {&plan.geometry.x, &plan.geometry.dy,
                                 &plan.geometry.dw};
  for (size_t side = 0; side < 3; ++side) {
    if (plan.block.reorders[side]) {
      query.reorderedBytes += tensors[side]->bytes();
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareWeights(const CallSite &site,
                                                      std::string &error) {
  WeightsPlan plan;
  if (makePlan(site, plan)) {
    auto kernel = std::make_unique<WeightsKernel>(plan, site.threads);
    if (kernel->isReady()) {
      return kernel;
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this convolution";
  return nullptr;
}

std::span<const Kernel> convWeightsKernels() {
  static constexpr Kernel kernels[] = {[] {
    Kernel kernel{fusedOp,          1,
                  KernelUse::Whole, queryBy<askOneDnn>,
                  prepareWeights,   acceptsBy<askOneDnn>};
    kernel.takesFormats = true;
    return kernel;
  }()};
  return kernels;
}

} // namespace divisi::rt::cpu
