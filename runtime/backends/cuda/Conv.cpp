//===- Conv.cpp - Convolutions by cuDNN -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution, or the gradient of one, and the regions that begin with one.
// The library does all of a region, if it has an engine for that, else code
// goes over what it makes (ProductRegion.h). Engines that take tensors with
// gaps, or as much padding as one likes, are few: where none is found, the
// operand is brought to where it is dense and padded, or the result of a
// gradient is cut out of one that is. Which of these ways it is turns out on
// the GPU:
//
//   as it lies, all          as it lies, convolution | code
//   padded, all              padded, convolution | code
//
// The workspace has what lies between the two, unless the code goes over it in
// a result, the padded tensor, and what the library wants. Where the library
// has no engine for any of these, the artifact's code is the convolution.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/DnnConvolution.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PlaneCopy.h"
#include "runtime/backends/cuda/ProductFallback.h"
#include "runtime/backends/cuda/ProductTail.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

static constexpr std::string_view libraryName = "cuDNN";
/// Where workspaces of the library begin, and what buffers are sure of.
static constexpr int64_t workspaceAlignment = 256, bufferAlignment = 64;

static int64_t alignUp(int64_t bytes, int64_t to) {
  return (bytes + to - 1) / to * to;
}

/// Enough for all tensors in another order, with channels that are padded where
/// they are few, and for partial sums of small ones.
static int64_t libraryBytesFor(int64_t tensorBytes) {
  constexpr int64_t least = int64_t(1) << 20, mostPadding = int64_t(16) << 20;
  return alignUp(tensorBytes + std::min(tensorBytes, mostPadding) + least,
                 workspaceAlignment);
}

namespace {

/// A tensor that is dense, and padded, in the workspace.
struct PaddedTensor {
  size_t side; ///< ConvBoxes::sides.
  DnnTensor whole;
  int64_t begin = 0; ///< Where what is not padding begins, in bytes.
  int64_t bytes = 0;
  int64_t at = 0; ///< In the workspace.
};

/// What is done of one call.
struct ConvPlan {
  ProductRegion region;
  std::array<int64_t, 3> bases; ///< ConvBoxes::Side::base.
  DnnConvolution convolution;   ///< As tensors lie, alone.
  /// What the library could do behind it, with these tensors of the call; empty
  /// if it has not all of it.
  std::vector<ConvStep> steps;
  std::vector<DnnTensor> others;
  std::vector<PaddedTensor> padded; ///< Those that may be of use.
  int64_t libraryBytes = 0;         ///< Of workspace.

  static std::optional<ConvPlan> of(const CallSite &site, bool mayRound);

  int64_t libraryAt = 0; ///< In the workspace.

  void addPadded(size_t side, bool isPadded);
  int64_t workspaceBytes() const {
    return libraryAt + libraryBytes + workspaceAlignment - bufferAlignment;
  }
  /// What the library is asked for on one of the ways.
  DnnConvolution on(bool isPadded, bool isFused) const;
  bool canFuse(bool isPadded) const {
    return !steps.empty() &&
           !(isPadded && convolution.isGradient && !convolution.isSymmetric());
  }
};

} // namespace

/// Dense strides, in the order of others.
static Dims denseLike(const Dims &strides, const Dims &extents) {
  std::vector<size_t> order(extents.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t d) { return strides[d]; });
  Dims dense(extents.size());
  int64_t next = 1;
  for (size_t d : order) {
    dense[d] = next;
    next *= extents[d];
  }
  return dense;
}

/// Adds a dense one if the library may want it.
void ConvPlan::addPadded(size_t side, bool isPadded) {
  const DnnTensor &given = convolution.tensors[side];
  isPadded &= !convolution.isSymmetric();
  if (given.isDense() && !isPadded) {
    return;
  }
  PaddedTensor made{side, given};
  Dims &extents = made.whole.extents;
  made.whole.alignment = bufferAlignment;
  for (size_t i = 0; i < convolution.before.size() && isPadded; ++i) {
    extents[i + 2] += convolution.before[i] + convolution.after[i];
  }
  made.whole.strides = denseLike(given.strides, extents);
  int64_t width = byteWidth(convolution.type);
  for (size_t i = 0; i < convolution.before.size() && isPadded; ++i) {
    made.begin += width * convolution.before[i] * made.whole.strides[i + 2];
  }
  made.bytes = numElements(extents) * width;
  made.at = libraryAt;
  libraryAt += alignUp(made.bytes, bufferAlignment);
  padded.push_back(std::move(made));
}

/// Types are those that the library sums in f32.
static bool hasTypes(const CallSite &site) {
  DType type = site.operands[0].type;
  return (type == DType::F32 || type == DType::F16 || type == DType::BF16) &&
         site.operands[1].type == type && site.results[0].type == type;
}

/// Ranks are those that it has engines for, and no index is too large.
static bool hasSizes(const DnnConvolution &what) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  auto isSmall = [&](const DnnTensor &tensor) {
    return tensor.extents.size() <= 5 && numElements(tensor.extents) <= most;
  };
  return std::ranges::all_of(what.tensors, isSmall) &&
         what.tensors[2].isDense();
}

std::optional<ConvPlan> ConvPlan::of(const CallSite &site, bool mayRound) {
  std::optional<ProductRegion> region = ProductRegion::of(site);
  CallSite single = region ? region->product() : site;
  bool isKnown = region && single.op != "nn.matmul" && isConvolution(single) &&
                 hasTypes(single);
  auto boxes = isKnown ? ConvBoxes::of(single) : std::nullopt;
  if (!boxes) {
    return std::nullopt;
  }
  ConvPlan plan{*region,
                {},
                DnnConvolution::of(single, *boxes),
                findSteps(site).value_or(std::vector<ConvStep>())};
  if (!hasSizes(plan.convolution)) {
    return std::nullopt;
  }
  int64_t tensorBytes = 0, width = byteWidth(plan.convolution.type);
  for (size_t i = 0; i < plan.bases.size(); ++i) {
    plan.bases[i] = boxes->sides[i].base;
    tensorBytes += width * numElements(boxes->sides[i].extents);
  }
  size_t rank = site.results[0].rank();
  for (const ConvStep &step : plan.steps) {
    if (step.operand >= 0) {
      TensorInfo info =
          withRank(site.operands[static_cast<size_t>(step.operand)], rank);
      plan.others.push_back(
          DnnTensor::of({info.extents, stridesOf(info)}, width));
    }
  }
  plan.libraryBytes = libraryBytesFor(tensorBytes);
  plan.convolution.mayRound = mayRound;
  plan.convolution.mostWorkspace = plan.libraryBytes;
  plan.libraryAt =
      alignUp(ProductTail::madeBytes(plan.region), bufferAlignment);
  plan.addPadded(0, !plan.convolution.isGradient);
  plan.addPadded(1, false);
  plan.addPadded(2, plan.convolution.isGradient);
  return plan;
}

DnnConvolution ConvPlan::on(bool isPadded, bool isFused) const {
  DnnConvolution made = convolution;
  for (const PaddedTensor &tensor : padded) {
    if (isPadded) {
      made.tensors[tensor.side] = tensor.whole;
    }
  }
  if (isPadded && !made.isSymmetric()) {
    std::ranges::fill(made.before, 0);
    std::ranges::fill(made.after, 0);
  }
  if (isFused) {
    made.steps = steps;
    made.others = others;
  }
  return made;
}

namespace {

class PreparedConv final : public CudaKernel {
public:
  PreparedConv(const ConvPlan &plan, ProductTail tail, ProductFallback fallback)
      : plan_(plan), operands_(plan.region.productOperands()),
        tail_(std::move(tail)), fallback_(std::move(fallback)) {
    for (const PaddedTensor &padded : plan.padded) {
      const DnnTensor &given = plan.convolution.tensors[padded.side];
      const Dims &whole = padded.whole.strides;
      bool isResult = padded.side == 2;
      copies_.emplace_back(byteWidth(plan.convolution.type), given.extents,
                           isResult ? whole : given.strides,
                           isResult ? given.strides : whole);
    }
  }

  Status makeReady(const std::shared_ptr<const Context> &context) override;
  Status launch(LaunchContext &context) override;
  std::optional<RefusedPart> hasFallenBack() const override;

private:
  Status choose(const DnnHandle &dnn,
                const std::shared_ptr<const Context> &context);
  Status convolve(LaunchContext &context, const DnnHandle &dnn);
  Status pad(size_t padded, const CudaQueue &queue, const void *from,
             std::byte *to) const;

  ConvPlan plan_;
  std::vector<int> operands_; ///< Of the convolution.
  ProductTail tail_;
  ProductFallback fallback_;
  std::vector<PlaneCopy> copies_; ///< To padded tensors, or out of them.
  /// Null where there is none, and the fallback is used.
  const DnnPlan *chosen_ = nullptr;
  bool isPadded_ = false, isFused_ = false;
  std::vector<int64_t> numbers_;
  std::vector<void *> pointers_; ///< Of the present launch.
};

} // namespace

/// Takes the first way that the library knows, or else the fallback: not where
/// it has failed at the convolution alone.
Status PreparedConv::choose(const DnnHandle &dnn,
                            const std::shared_ptr<const Context> &context) {
  Status failure;
  for (bool isPadded : {false, true}) {
    for (bool isFused : {true, false}) {
      if ((isPadded && plan_.padded.empty()) ||
          (isFused && !plan_.canFuse(isPadded))) {
        continue;
      }
      DnnConvolution what = plan_.on(isPadded, isFused);
      auto plan = what.plan(dnn);
      if (!plan && !isFused && failure.isOk()) {
        failure = plan.status();
      }
      if (plan && *plan) {
        chosen_ = *plan;
        numbers_ = what.numbers();
        isPadded_ = isPadded;
        isFused_ = isFused;
        return {};
      }
    }
  }
  if (!failure.isOk()) {
    return failure;
  }
  if (fallback_.exists()) {
    return fallback_.load(context);
  }
  const DnnConvolution &what = plan_.convolution;
  return makeError(ExitCode::Device,
                   "cuDNN has no engine for a convolution of ",
                   stringify(what.tensors[0].extents), " and ",
                   stringify(what.tensors[1].extents), " in ",
                   stringify(what.type), " that does with ", plan_.libraryBytes,
                   " bytes of workspace; update it, or compile without --gpu");
}

std::optional<RefusedPart> PreparedConv::hasFallenBack() const {
  return fallback_.isUsed()
             ? std::optional(RefusedPart{
                   plan_.convolution.isGradient ? "nn.conv_dgrad" : "nn.conv",
                   libraryName})
             : std::nullopt;
}

/// Zeros around what is copied.
Status PreparedConv::pad(size_t number, const CudaQueue &queue,
                         const void *from, std::byte *to) const {
  const PaddedTensor &padded = plan_.padded[number];
  Status status =
      queue.context().check(queue.context().driver().memsetD8Async(
                                reinterpret_cast<CUdeviceptr>(to), 0,
                                size_t(padded.bytes), queue.stream()),
                            "fill memory");
  return status.isOk() ? copies_[number].run(queue, from, to + padded.begin)
                       : status;
}

/// The library's part.
Status PreparedConv::convolve(LaunchContext &context, const DnnHandle &dnn) {
  auto &queue = static_cast<CudaQueue &>(*context.queue);
  int64_t width = byteWidth(plan_.convolution.type);
  auto operand = [&](int number) {
    return const_cast<std::byte *>(static_cast<const std::byte *>(
        context.operands[static_cast<size_t>(number)]));
  };
  auto *workspace = static_cast<std::byte *>(context.workspace);
  void *made = isFused_ ? context.results[0] : tail_.made(context);
  pointers_ = {operand(operands_[0]) + plan_.bases[0] * width,
               operand(operands_[1]) + plan_.bases[1] * width, made};
  Status status;
  size_t numPadded = isPadded_ ? plan_.padded.size() : 0;
  for (size_t i = 0; i < numPadded && status.isOk(); ++i) {
    void *&given = pointers_[plan_.padded[i].side];
    std::byte *padded = workspace + plan_.padded[i].at;
    if (plan_.padded[i].side != 2) {
      status = pad(i, queue, given, padded);
    }
    given = padded;
  }
  for (const ConvStep &step :
       isFused_ ? plan_.steps : std::vector<ConvStep>()) {
    if (step.operand >= 0) {
      pointers_.push_back(operand(step.operand));
    }
  }
  auto library = reinterpret_cast<intptr_t>(workspace) + plan_.libraryAt;
  if (status.isOk()) {
    status = chosen_->run(
        dnn, numbers_, pointers_,
        reinterpret_cast<void *>(alignUp(library, workspaceAlignment)),
        queue.stream());
  }
  for (size_t i = 0; i < numPadded && status.isOk(); ++i) {
    if (plan_.padded[i].side == 2) {
      status = copies_[i].run(
          queue, workspace + plan_.padded[i].at + plan_.padded[i].begin, made);
    }
  }
  return status;
}

Status PreparedConv::makeReady(const std::shared_ptr<const Context> &context) {
  auto dnn = context->dnn();
  Status status = dnn ? choose(**dnn, context) : dnn.status();
  return status.isOk() ? tail_.makeReady(context) : status;
}

Status PreparedConv::launch(LaunchContext &context) {
  auto dnn = static_cast<CudaQueue &>(*context.queue).context().dnn();
  Status status = dnn.status();
  if (status.isOk()) {
    status = fallback_.isUsed() ? fallback_.launch(context, tail_.made(context))
                                : convolve(context, **dnn);
  }
  return status.isOk() && !isFused_ ? tail_.launch(context) : status;
}

template <bool mayRound> static bool acceptsConv(const CallSite &site) {
  auto plan = ConvPlan::of(site, mayRound);
  return plan && ProductTail::isCoded(plan->region, site);
}

template <bool mayRound> static KernelQuery queryConv(const CallSite &site) {
  KernelQuery query;
  if (auto plan = ConvPlan::of(site, mayRound)) {
    query.workspaceBytes = plan->workspaceBytes();
  }
  return query;
}

template <bool mayRound>
static std::unique_ptr<PreparedKernel> prepareConv(const CallSite &site,
                                                   std::string &error) {
  auto plan = ConvPlan::of(site, mayRound);
  if (!plan) {
    error = std::string(site.op) + ": cuDNN cannot do this convolution";
    return nullptr;
  }
  if (auto library = DnnLibrary::open(); !library) {
    error = library.status().message();
    return nullptr;
  }
  ProductTail tail;
  return tail.prepare(plan->region, site, error)
             ? std::make_unique<PreparedConv>(
                   *plan, std::move(tail), ProductFallback(plan->region, site))
             : nullptr;
}

template <bool mayRound> static constexpr std::array<Kernel, 3> makeKernels() {
  auto make = [](std::string_view op, bool takesCode) {
    Kernel kernel{op,
                  1,
                  KernelUse::Whole,
                  queryConv<mayRound>,
                  prepareConv<mayRound>,
                  acceptsConv<mayRound>};
    kernel.takesCode = takesCode;
    kernel.library = libraryName;
    kernel.mayFallBack = true;
    return kernel;
  };
  return {make("nn.conv", false), make("nn.conv_dgrad", false),
          make(fusedOp, true)};
}

std::span<const Kernel> divisi::rt::cuda::convKernels(bool mayRound) {
  static constexpr auto exact = makeKernels<false>(),
                        rounded = makeKernels<true>();
  return mayRound ? rounded : exact;
}
