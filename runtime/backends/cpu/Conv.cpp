//===- Conv.cpp - Convolutions by oneDNN ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN chooses the layouts of what is row-major, and is told those of tensors
// whose channels come last, which suit it; constant weights are brought to
// where it wants them once. A region whose operators go on with the result, one
// after the other, is one primitive.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/ConvSides.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/PostOps.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <numeric>

namespace divisi::rt::cpu {
namespace {

/// A convolution alone, or the first operator of a region.
struct ConvPlan {
  /// One that has a result.
  explicit ConvPlan(const CallSite &call);
  ConvPlan(const ConvPlan &) = delete;

  const std::vector<TensorInfo> operands; ///< Of the convolution.
  const std::vector<const void *> constants;
  const TensorInfo result;
  const CallSite site; ///< The convolution.
  ConvSides sides;
  PostOps postOps;
  std::unique_ptr<RegionTail> tail; ///< Null if the primitive does all.
  PrimitiveDesc primitive;
  /// The layouts that the primitive wants of x, w and y.
  std::array<const_dnnl_memory_desc_t, 3> wanted = {};
  /// To these of x and w, and back of y; null where they are given.
  std::array<PrimitiveDesc, 3> reorders;
  bool constant = false; ///< w is brought there once.

  int64_t bytes(size_t side) const {
    return int64_t(dnnl_memory_desc_get_size(wanted[side]));
  }
  /// Whether each launch reorders it.
  bool reordersAlways(size_t side) const {
    return reorders[side] && !(side == 1 && constant);
  }
};

/// Where a launch finds its scratch memory.
struct ConvWorkspace {
  int64_t scratchpad = 0; ///< One for all primitives: they run in turn.
  std::array<int64_t, 3> sides = {};
  int64_t tail = 0;
  int64_t bytes = 0;
};

} // namespace

/// The first operator of a region; null if the call has none.
static const RegionPart *firstPart(const CallSite &call) {
  return call.region ? &call.region->parts[0] : nullptr;
}

/// The numbers of the first operator's operands among those of the call.
static std::vector<int> operandsOf(const CallSite &call) {
  if (const RegionPart *part = firstPart(call)) {
    return part->operands;
  }
  std::vector<int> all(call.operands.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The image may be what suits oneDNN, if it has these bytes.
static std::vector<TensorInfo> infosOf(const CallSite &call) {
  std::vector<TensorInfo> infos;
  for (int operand : operandsOf(call)) {
    const TensorInfo &info = call.operands[operand];
    infos.push_back(infos.empty() ? preferChannelsLast(info) : info);
  }
  return infos;
}

static std::vector<const void *> constantsOf(const CallSite &call) {
  std::vector<const void *> constants;
  for (int operand : operandsOf(call)) {
    constants.push_back(call.constants.empty() ? nullptr
                                               : call.constants[operand]);
  }
  return constants;
}

ConvPlan::ConvPlan(const CallSite &call)
    : operands(infosOf(call)), constants(constantsOf(call)),
      result(preferChannelsLast(call.results[0])),
      site{firstPart(call) ? std::string_view(firstPart(call)->op) : call.op,
           firstPart(call) ? firstPart(call)->attributes : call.attributes,
           operands,
           {&result, 1},
           constants,
           call.threads,
           call.checksIndices} {}

static ConvWorkspace layOut(const ConvPlan &plan) {
  ConvWorkspace workspace;
  WorkspaceParts parts;
  int64_t scratchpad = scratchpadBytes(plan.primitive.get());
  for (size_t i = 0; i < 3; ++i) {
    if (plan.reordersAlways(i)) {
      workspace.sides[i] = parts.add(plan.bytes(i));
      scratchpad =
          std::max(scratchpad, scratchpadBytes(plan.reorders[i].get()));
    }
  }
  workspace.scratchpad = parts.add(scratchpad);
  workspace.tail = parts.add(
      plan.tail ? plan.tail->kernel->query(plan.tail->site).workspaceBytes : 0);
  workspace.bytes = parts.bytes();
  return workspace;
}

namespace {

class ConvKernel final : public PreparedKernel {
public:
  ConvKernel(ConvPlan &plan, const CallSite &call)
      : primitive_(plan.primitive.get()), workspace_(layOut(plan)),
        postOps_(std::move(plan.postOps)), bases_(plan.sides.bases) {
    std::vector<int> operands = operandsOf(call);
    operands_ = {size_t(operands[0]), size_t(operands[1])};
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                        DNNL_ARG_DST};
    for (size_t i = 0; i < 3; ++i) {
      const_dnnl_memory_desc_t given = plan.sides.given[i].get();
      if (primitive_) {
        primitive_.bind(arguments[i], plan.wanted[i]);
      }
      if (plan.reorders[i]) {
        reorders_[i] =
            i == 2 ? makeReorder(plan.reorders[i], plan.wanted[i], given)
                   : makeReorder(plan.reorders[i], given, plan.wanted[i]);
        ready_ &= bool(reorders_[i]);
      }
    }
    if (primitive_) {
      postOps_.bind(primitive_);
    }
    if (plan.constant && plan.reorders[1] && isReady()) {
      constant_ = Bytes(size_t(plan.bytes(1)));
      Bytes scratchpad(size_t(scratchpadBytes(plan.reorders[1].get())));
      ready_ =
          reorders_[1].run({given(1, plan.site.constants[1]), constant_.data()},
                           scratchpad.data());
    }
  }

  /// Makes what is left of the region; false and a message if that refuses.
  bool prepareTail(const ConvPlan &plan, std::string &error) {
    if (plan.tail) {
      tail_ = plan.tail->kernel->prepare(plan.tail->site, error);
    }
    return !plan.tail || tail_;
  }
  bool isReady() const { return ready_ && primitive_; }

  Status launch(LaunchContext &context) override {
    if (Status status = convolve(context); !status.isOk() || !tail_) {
      return status;
    }
    pointers_.assign(context.operands.begin(), context.operands.end());
    pointers_.push_back(context.results[0]);
    LaunchContext rest = context;
    rest.operands = pointers_;
    rest.workspace =
        static_cast<std::byte *>(context.workspace) + workspace_.tail;
    return tail_->launch(rest);
  }

  int64_t packedBytes() const override {
    return constant_.size() + (tail_ ? tail_->packedBytes() : 0);
  }

private:
  Status convolve(LaunchContext &context) {
    TeamSize team(context.threads);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    void *scratchpad = workspace + workspace_.scratchpad;
    const void *x = bring(0, context.operands[operands_[0]], workspace);
    const void *w = constant_.data()
                        ? constant_.data()
                        : bring(1, context.operands[operands_[1]], workspace);
    void *result = context.results[0];
    void *y = reorders_[2] ? workspace + workspace_.sides[2] : result;
    pointers_.assign({x, w, y});
    postOps_.pointers(context.operands, pointers_);
    bool done = x && w && primitive_.run(pointers_, scratchpad) &&
                (!reorders_[2] || reorders_[2].run({y, result}, scratchpad));
    return done ? Status() : kernelFailure();
  }

  const void *given(size_t side, const void *tensor) const {
    return static_cast<const float *>(tensor) + bases_[side];
  }

  /// The tensor in the layout that the primitive wants; null if it fails.
  const void *bring(size_t side, const void *tensor,
                    std::byte *workspace) const {
    if (!reorders_[side]) {
      return given(side, tensor);
    }
    void *to = workspace + workspace_.sides[side];
    bool done = reorders_[side].run({given(side, tensor), to},
                                    workspace + workspace_.scratchpad);
    return done ? to : nullptr;
  }

  Primitive primitive_;
  ConvWorkspace workspace_;
  PostOps postOps_;
  bool ready_ = true;
  std::array<Primitive, 3> reorders_;
  Bytes constant_;                       ///< w, if it is packed once.
  std::unique_ptr<PreparedKernel> tail_; ///< Of a region.
  std::array<int64_t, 3> bases_;
  std::array<size_t, 2> operands_;     ///< x and w, of the call.
  std::vector<const void *> pointers_; ///< Of the present launch.
};

} // namespace

/// The same tensor in any layout.
static MemoryDesc anyLike(const_dnnl_memory_desc_t given) {
  const dnnl_dims_t *dims = nullptr;
  int rank = 0;
  dnnl_memory_desc_query(given, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(given, dnnl_query_ndims_s32, &rank);
  return describeAny(Dims(*dims, *dims + rank));
}

/// The primitive of `plan`, where x, w and y have these layouts.
static bool makePrimitive(ConvPlan &plan, const_dnnl_memory_desc_t x,
                          const_dnnl_memory_desc_t w,
                          const_dnnl_memory_desc_t y,
                          const_dnnl_memory_desc_t bias,
                          const_dnnl_primitive_attr_t attr) {
  const Attributes &attributes = plan.site.attributes;
  Dims strides = attributes.getInts("strides");
  Dims dilations = attributes.getInts("dilations");
  for (int64_t &dilation : dilations) {
    --dilation; // oneDNN counts the gaps.
  }
  const auto &[before, after] = std::tie(plan.sides.before, plan.sides.after);
  dnnl_primitive_desc_t desc = nullptr;
  bool isGradient = plan.site.op == "nn.conv_dgrad";
  auto *create = isGradient ? dnnl_deconvolution_forward_primitive_desc_create
                            : dnnl_convolution_forward_primitive_desc_create;
  auto algorithm =
      isGradient ? dnnl_deconvolution_direct : dnnl_convolution_direct;
  dnnl_status_t status = create(
      &desc, engine(), dnnl_forward_inference, algorithm, x, w, bias, y,
      strides.data(), dilations.data(), before.data(), after.data(), attr);
  plan.primitive.reset(desc);
  return status == dnnl_success && isOptimized(desc);
}

/// What has to be reordered for the primitive.
static bool addReorders(ConvPlan &plan) {
  static constexpr dnnl_query_t queries[] = {
      dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
  for (size_t i = 0; i < 3; ++i) {
    const_dnnl_memory_desc_t given = plan.sides.given[i].get();
    plan.wanted[i] =
        dnnl_primitive_desc_query_md(plan.primitive.get(), queries[i], 0);
    plan.reorders[i] = i == 2 ? describeReorder(plan.wanted[i], given)
                              : describeReorder(given, plan.wanted[i]);
    if (!plan.reorders[i] && !dnnl_memory_desc_equal(given, plan.wanted[i])) {
      return false;
    }
  }
  return true;
}

/// Whether the reference takes the convolution, whatever its formats.
static bool isRight(const CallSite &site) {
  std::string ignored;
  if (!Checks(site, ignored).counts(2, 1)) {
    return false;
  }
  std::vector<TensorInfo> plain = {asPlain(site.operands[0]), site.operands[1]};
  TensorInfo result = asPlain(site.results[0]);
  CallSite reference{site.op, site.attributes, plain, {&result, 1}};
  auto isF32 = [](const TensorInfo &info) {
    return info.type == DType::F32 && info.count() != 0;
  };
  return std::all_of(plain.begin(), plain.end(), isF32) && isF32(result) &&
         plain[1].format.empty() &&
         referenceBackend().find(reference)->prepare(reference, ignored);
}

/// Lets the primitive do at most `most` operators of the region; how many they
/// are, or 0 if it cannot.
static size_t fitPrimitive(const CallSite &call, size_t most, ConvPlan &plan) {
  const CallSite &site = plan.site;
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  auto layoutOf = [&](size_t side, bool isGiven) {
    return isGiven ? nullptr : anyLike(plan.sides.given[side].get());
  };
  MemoryDesc anyX = layoutOf(0, isChannelsLast(x)), anyW = layoutOf(1, false),
             anyY = layoutOf(2, isChannelsLast(y));
  PrimitiveAttr attr = scratchpadAttr();
  size_t done = plan.postOps.read(call, most);
  MemoryDesc bias =
      site.op == "nn.conv" ? plan.postOps.takeBias(y, 1) : nullptr;
  bool fits =
      attr && plan.postOps.addTo(attr.get(), y) &&
      makePrimitive(plan, anyX ? anyX.get() : plan.sides.given[0].get(),
                    anyW.get(), anyY ? anyY.get() : plan.sides.given[2].get(),
                    bias.get(), attr.get());
  return fits ? done : done > 1 ? fitPrimitive(call, done - 1, plan) : 0;
}

/// `call` is a convolution, or a region that begins with one.
static bool makePlan(const CallSite &call, ConvPlan &plan) {
  const CallSite &site = plan.site;
  if (!engine() || (site.op != "nn.conv" && site.op != "nn.conv_dgrad") ||
      !isPlainOrChannelsLast(call) || !isRight(site) ||
      !describeSides(site, plan.sides)) {
    return false;
  }
  size_t parts = call.region ? call.region->parts.size() : 1;
  if (call.region &&
      (call.region->parts[0].results.size() != 1 ||
       !isSameBox(call.region->parts[0].results[0], call.results[0]))) {
    return false;
  }
  size_t done = fitPrimitive(call, parts, plan);
  if (done == 0) {
    return false;
  }
  if (done < parts) {
    plan.tail = std::make_unique<RegionTail>(call, done);
    if (!plan.tail->kernel) {
      return false;
    }
  }
  plan.constant = site.constants.size() > 1 && site.constants[1];
  return addReorders(plan);
}

static std::optional<KernelQuery> askOneDnn(const CallSite &site) {
  bool isRegion = site.op == fusedOp;
  if (site.results.size() != 1 || isRegion != (site.region != nullptr) ||
      (isRegion && site.region->parts.empty())) {
    return std::nullopt;
  }
  TeamSize team(site.threads);
  ConvPlan plan(site);
  if (!makePlan(site, plan)) {
    return std::nullopt;
  }
  KernelQuery query;
  query.workspaceBytes = layOut(plan).bytes;
  for (size_t i = 0; i < 3; ++i) {
    query.reorderedBytes += plan.reordersAlways(i) ? plan.bytes(i) : 0;
  }
  if (plan.constant && plan.reorders[1]) {
    query.packedBytes = plan.bytes(1);
  }
  return query;
}

static std::optional<KernelQuery> answerFor(const CallSite &site) {
  static Answers answers;
  return answers.of(site, askOneDnn);
}

static bool acceptsConv(const CallSite &site) {
  return answerFor(site).has_value();
}

static KernelQuery queryConv(const CallSite &site) {
  return answerFor(site).value_or(KernelQuery());
}

static std::unique_ptr<PreparedKernel> prepareConv(const CallSite &site,
                                                   std::string &error) {
  TeamSize team(site.threads);
  ConvPlan plan(site);
  if (makePlan(site, plan)) {
    auto kernel = std::make_unique<ConvKernel>(plan, site);
    if (kernel->isReady() && kernel->prepareTail(plan, error)) {
      return kernel;
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this convolution";
  return nullptr;
}

static constexpr Kernel convKernel(std::string_view op) {
  Kernel kernel{op, 1, KernelUse::Whole, queryConv, prepareConv, acceptsConv};
  kernel.takesFormats = true;
  return kernel;
}

std::span<const Kernel> convKernels() {
  static constexpr Kernel kernels[] = {
      convKernel("nn.conv"), convKernel("nn.conv_dgrad"), convKernel(fusedOp)};
  return kernels;
}

} // namespace divisi::rt::cpu
