//===- Conv.cpp - Convolutions by oneDNN ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"
#include "runtime/backends/cpu/ConvPlan.h"
#include "runtime/backends/cpu/Families.h"

namespace divisi::rt::cpu {
namespace {

/// The convolution with what is done to its result on the way.
struct Chain {
  Chain() = default;
  /// Empty if oneDNN refuses, or there is no description.
  Chain(const_dnnl_primitive_desc_t desc, PostOps &&ops, const ConvPlan &plan)
      : primitive(desc), postOps(std::move(ops)) {
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                        DNNL_ARG_DST};
    if (primitive) {
      for (size_t i = 0; i < 3; ++i) {
        primitive.bind(arguments[i], plan.wanted[i]);
      }
      postOps.bind(primitive);
    }
  }

  Primitive primitive;
  PostOps postOps;
};

/// Whether others than the convolution read its weights.
bool sharesWeights(const CallSite &call, const ConvPlan &plan) {
  return call.region && call.region->countReads(plan.numbers[1]) > 1;
}

class ConvKernel final : public PreparedKernel {
public:
  ConvKernel(ConvPlan &plan, const CallSite &call)
      : exact_(plan.primitive.get(), std::move(plan.postOps), plan),
        workspace_(plan), bases_(plan.sides.bases), threads_(plan.threads) {
    operands_ = {size_t(plan.numbers[0]), size_t(plan.numbers[1])};
    for (size_t i = 0; i < 3; ++i) {
      const_dnnl_memory_desc_t given = plan.sides.given[i].get();
      if (plan.reorders[i]) {
        reorders_[i] =
            i == 2 ? makeReorder(plan.reorders[i], plan.wanted[i], given)
                   : makeReorder(plan.reorders[i], given, plan.wanted[i]);
        ready_ &= bool(reorders_[i]);
      }
    }
    if (plan.clipped) {
      clipped_ = Chain(plan.clipped.get(), std::move(plan.clippedOps), plan);
      clipped_.postOps.measure(call);
      magnitudes_ = {Magnitude(call, operands_[0]),
                     Magnitude(call, operands_[1])};
      terms_ = double(plan.operands[1].count());
    }
    if (plan.constant && plan.reorders[1] && isReady()) {
      packWeights(plan, call);
    }
  }

  /// Makes what is left of the region; false and a message if that refuses.
  bool prepareTail(const ConvPlan &plan, std::string &error) {
    if (plan.tail) {
      tail_ = plan.tail->kernel->prepare(plan.tail->site, error);
    }
    return !plan.tail || tail_;
  }
  bool isReady() const { return ready_ && exact_.primitive; }

  Status launch(LaunchContext &context) override {
    if (clipped_.primitive && staysFinite(context)) {
      return convolve(context, clipped_);
    }
    if (Status status = convolve(context, exact_); !status.isOk() || !tail_) {
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

  std::vector<PackedBytes> packed() const override {
    std::vector<PackedBytes> all = constant_.list();
    if (tail_) {
      std::ranges::copy(tail_->packed(), std::back_inserter(all));
    }
    return all;
  }

  /// Others than the convolution may read its weights.
  bool reads(size_t operand) const override {
    return !constant_ || operand != operands_[1] || sharesWeights_;
  }

private:
  void packWeights(const ConvPlan &plan, const CallSite &call) {
    constant_ = PackedWeights(plan.site.constants[1], plan.givenWeights(),
                              plan.packedName(), plan.wanted[1]);
    ready_ = bool(constant_);
    sharesWeights_ = sharesWeights(call, plan);
  }

  /// Whether clips see no NaN. No sum has more terms than there are weights.
  bool staysFinite(const LaunchContext &context) const {
    double bound = magnitudes_[1].of(context) * terms_;
    return clipped_.postOps.staysFinite(bound * magnitudes_[0].of(context),
                                        context);
  }

  Status convolve(LaunchContext &context, const Chain &chain) {
    TeamSize team(threads_);
    auto *workspace = static_cast<std::byte *>(context.workspace);
    void *scratchpad = workspace + workspace_.scratchpad;
    const void *x = bring(0, context.operands[operands_[0]], workspace);
    const void *w = constant_
                        ? constant_.data()
                        : bring(1, context.operands[operands_[1]], workspace);
    void *result = context.results[0];
    void *y = reorders_[2] ? workspace + workspace_.sides[2] : result;
    pointers_.assign({x, w, y});
    chain.postOps.pointers(context.operands, pointers_);
    bool done = x && w && chain.primitive.run(pointers_, scratchpad) &&
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

  Chain exact_, clipped_;               ///< See ConvPlan.h.
  std::array<Magnitude, 2> magnitudes_; ///< x and w, for the clipped one.
  double terms_ = 0;
  ConvWorkspace workspace_;
  bool ready_ = true;
  std::array<Primitive, 3> reorders_;
  PackedWeights constant_;               ///< w, if it is packed once.
  bool sharesWeights_ = false;           ///< Others read them, too.
  std::unique_ptr<PreparedKernel> tail_; ///< Of a region.
  std::array<int64_t, 3> bases_;
  int threads_;
  std::array<size_t, 2> operands_;     ///< x and w, of the call.
  std::vector<const void *> pointers_; ///< Of the present launch.
};

} // namespace

static std::optional<KernelQuery> askOneDnn(const CallSite &site) {
  bool isRegion = site.op == fusedOp;
  if (site.results.size() != 1 || isRegion != (site.region != nullptr) ||
      (isRegion && site.region->parts.empty())) {
    return std::nullopt;
  }
  ConvPlan plan(site);
  if (!plan.make(site, Clips::Unknown)) {
    return std::nullopt;
  }
  KernelQuery query;
  query.workspaceBytes = ConvWorkspace(plan).bytes;
  for (size_t i = 0; i < 3; ++i) {
    query.reorderedBytes += plan.reordersAlways(i) ? plan.bytes(i) : 0;
  }
  if (plan.tail) {
    query.packed = plan.tail->query().packed;
  }
  if (plan.constant && plan.reorders[1]) {
    query.packed.push_back(PackedWeights::formOf(
        size_t(plan.numbers[1]), plan.packedName(), plan.wanted[1],
        packingBytes(plan.givenWeights(), plan.wanted[1])));
    if (!sharesWeights(site, plan)) {
      query.unread = {plan.numbers[1]};
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareConv(const CallSite &site,
                                                   std::string &error) {
  ConvPlan plan(site);
  if (plan.make(site, Clips::Known)) {
    TeamSize team(plan.threads);
    auto kernel = std::make_unique<ConvKernel>(plan, site);
    if (kernel->isReady() && kernel->prepareTail(plan, error)) {
      return kernel;
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this convolution";
  return nullptr;
}

static constexpr Kernel convKernel(std::string_view op) {
  Kernel kernel{op,
                1,
                KernelUse::Whole,
                queryBy<askOneDnn>,
                prepareConv,
                acceptsBy<askOneDnn>};
  kernel.takesFormats = true;
  return kernel;
}

std::span<const Kernel> convKernels() {
  static constexpr Kernel kernels[] = {
      convKernel("nn.conv"), convKernel("nn.conv_dgrad"), convKernel(fusedOp)};
  return kernels;
}

} // namespace divisi::rt::cpu
