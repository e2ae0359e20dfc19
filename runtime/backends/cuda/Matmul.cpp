//===- Matmul.cpp - Matrix products by cuBLASLt ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product, and the regions that begin with one. The library does all of a
// region, if it has an algorithm for that, else code goes over what it makes
// (ProductRegion.h); where it has none for the product alone, the artifact's
// code is the product. Which of these it is turns out on the GPU: what a
// heuristic finds depends on types, extents, batches and alignments (cuBLAS,
// cublasLtMatmulAlgoGetHeuristic: it may return none). The workspace has what
// lies between the two, unless the code goes over it in a result, and then what
// the library wants.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/BlasProduct.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/ProductFallback.h"
#include "runtime/backends/cuda/ProductTail.h"

#include <algorithm>
#include <limits>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

static constexpr std::string_view libraryName = "cuBLASLt";
/// Where workspaces of the library have to begin, and what buffers are sure of.
static constexpr int64_t workspaceAlignment = 256, bufferAlignment = 64;
/// Enough for four partial sums of each element; more is no use even to large
/// products of NVIDIA's newest GPUs, says its documentation.
static constexpr int64_t mostWorkspaceBytes = int64_t(32) << 20;
/// What takes more calls is left to others.
static constexpr int64_t mostCalls = 1024;

namespace {

/// What is done of one call.
struct ProductPlan {
  ProductRegion region;
  StridedProduct product;
  ProductTypes types;
  int64_t libraryBytes; ///< Of workspace.
  bool canFuse;         ///< Whether the library may do all of the region.

  static std::optional<ProductPlan> of(const CallSite &site, bool mayRound);
};

} // namespace

static int64_t alignUp(int64_t bytes, int64_t to) {
  return (bytes + to - 1) / to * to;
}

std::optional<ProductPlan> ProductPlan::of(const CallSite &site,
                                           bool mayRound) {
  std::optional<ProductRegion> region = ProductRegion::of(site);
  bool isPlain =
      region && region->product().op == "nn.matmul" &&
      std::ranges::all_of(site.operands, [](const TensorInfo &operand) {
        return operand.format.empty();
      });
  auto product = isPlain ? StridedProduct::of(region->product()) : std::nullopt;
  auto types = product ? ProductTypes::of(region->product().operands[0].type,
                                          region->made().type, mayRound)
                       : std::nullopt;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (!types || product->calls() > mostCalls || product->batch > most ||
      std::max({product->m, product->n, product->k}) > most) {
    return std::nullopt;
  }
  // What is added up call by call is rounded each time.
  bool isNarrow = byteWidth(region->made().type) < 4;
  if (isNarrow && !product->sums.empty()) {
    return std::nullopt;
  }
  // The library knows no sums of nothing, and one bias for all of its calls.
  auto hasColumns = [&](const StridedProduct::Loop &loop) {
    return loop.strides[RightMatrix] != 0 && loop.strides[LeftMatrix] == 0;
  };
  bool canFuse =
      region->isFusible() && product->k != 0 &&
      !(region->bias() >= 0 && std::ranges::any_of(product->loops, hasColumns));
  int64_t partial = 4 * int64_t(sizeof(float)) * region->made().count();
  return ProductPlan{
      *std::move(region), *std::move(product), *types,
      std::min(alignUp(partial, workspaceAlignment), mostWorkspaceBytes),
      canFuse};
}

/// What all tensors of a kind begin at multiples of, in bytes.
static uint32_t alignmentOf(const StridedProduct &product, size_t tensor,
                            DType type) {
  int64_t steps = bufferAlignment;
  auto add = [&](int64_t elements) { steps |= elements * byteWidth(type); };
  add(product.matrices[tensor].base);
  for (const auto *loops : {&product.loops, &product.sums}) {
    for (const StridedProduct::Loop &loop : *loops) {
      add(loop.strides[tensor]);
    }
  }
  return static_cast<uint32_t>(steps & -steps);
}

namespace {

class PreparedProduct final : public CudaKernel {
public:
  PreparedProduct(const ProductPlan &plan, ProductTail tail,
                  ProductFallback fallback)
      : region_(plan.region), product_(plan.product), types_(plan.types),
        libraryBytes_(plan.libraryBytes),
        libraryAt_(
            alignUp(ProductTail::madeBytes(plan.region), bufferAlignment)),
        canFuse_(plan.canFuse), tail_(std::move(tail)),
        fallback_(std::move(fallback)) {
    CallSite single = plan.region.product();
    for (size_t t = 0; t < 3; ++t) {
      size_t operand = t == LeftMatrix ? product_.swapped : !product_.swapped;
      DType type = t == ResultMatrix ? region_.made().type
                                     : single.operands[operand].type;
      widths_[t] = byteWidth(type);
      alignments_[t] = alignmentOf(product_, t, type);
    }
  }

  Status makeReady(const std::shared_ptr<const Context> &context) override;
  Status launch(LaunchContext &context) override;
  std::optional<RefusedPart> hasFallenBack() const override {
    return fallback_.isUsed()
               ? std::optional(RefusedPart{"nn.matmul", libraryName})
               : std::nullopt;
  }

private:
  struct Pointers {
    std::array<const std::byte *, 3> tensors;
    const std::byte *residual, *bias;
    void *workspace;
  };

  Expected<bool> choose(const BlasHandle &blas, bool isFused);
  Status multiply(LaunchContext &context, void *made);
  Status call(const Pointers &pointers, const std::array<int64_t, 3> &begins,
              bool isFirst, bool isLast, CUstream stream);

  ProductRegion region_;
  StridedProduct product_;
  ProductTypes types_;
  int64_t libraryBytes_, libraryAt_; ///< In the workspace.
  bool canFuse_;
  std::array<int64_t, 3> widths_;
  std::array<uint32_t, 3> alignments_;
  ProductTail tail_;
  ProductFallback fallback_;
  bool isFused_ = false; ///< Whether the library does all of the region.
  /// By whether it is the first and the last of a sum; those that there are.
  std::unique_ptr<BlasProduct> calls_[2][2];
};

} // namespace

/// Whether the library has algorithms for all calls.
Expected<bool> PreparedProduct::choose(const BlasHandle &blas, bool isFused) {
  Expected<bool> hasAll = true;
  product_.forEach([&](const auto &, bool isFirst, bool isLast) {
    std::unique_ptr<BlasProduct> &known = calls_[isFirst][isLast];
    if (known || !hasAll || !*hasAll) {
      return;
    }
    ProductEnd end;
    end.adds = !isFirst || (isFused && region_.residual() >= 0);
    end.hasBias = isLast && isFused && region_.bias() >= 0;
    end.hasGelu = isLast && isFused && region_.hasGelu();
    auto made = BlasProduct::make(blas, product_, types_, end, alignments_,
                                  libraryBytes_);
    if (!made) {
      hasAll = made.status();
    } else {
      known = std::move(*made);
      hasAll = known != nullptr;
    }
  });
  if (!hasAll || !*hasAll) {
    for (auto &ofFirst : calls_) {
      std::ranges::for_each(ofFirst, [](auto &known) { known.reset(); });
    }
  }
  return hasAll;
}

Status
PreparedProduct::makeReady(const std::shared_ptr<const Context> &context) {
  auto blas =
      product_.k == 0 ? Expected<const BlasHandle *>(nullptr) : context->blas();
  Expected<bool> isChosen = blas ? Expected(product_.k == 0) : blas.status();
  for (bool isFused : {true, false}) {
    if (isChosen && !*isChosen && (canFuse_ || !isFused)) {
      isFused_ = isFused;
      isChosen = choose(**blas, isFused);
    }
  }
  Status status = isChosen.status();
  if (status.isOk() && !*isChosen) {
    status = fallback_.exists()
                 ? fallback_.load(context)
                 : makeError(ExitCode::Device,
                             "cuBLASLt has no algorithm for a "
                             "product of ",
                             BlasProduct::nameOf(product_),
                             ", and the artifact no code for it; update it, or "
                             "compile the model again");
  }
  return status.isOk() ? tail_.makeReady(context) : status;
}

Status PreparedProduct::call(const Pointers &pointers,
                             const std::array<int64_t, 3> &begins, bool isFirst,
                             bool isLast, CUstream stream) {
  auto at = [&](const std::byte *tensor, size_t t) {
    return tensor + begins[t] * widths_[t];
  };
  BlasProduct::Places places;
  places.left = at(pointers.tensors[LeftMatrix], LeftMatrix);
  places.right = at(pointers.tensors[RightMatrix], RightMatrix);
  places.result =
      const_cast<std::byte *>(at(pointers.tensors[ResultMatrix], ResultMatrix));
  places.added = isFirst && pointers.residual
                     ? at(pointers.residual, ResultMatrix)
                     : places.result;
  places.bias = pointers.bias;
  places.workspace = pointers.workspace;
  return calls_[isFirst][isLast]->run(places, stream);
}

/// The library's part.
Status PreparedProduct::multiply(LaunchContext &context, void *made) {
  auto &queue = static_cast<CudaQueue &>(*context.queue);
  const Driver &driver = queue.context().driver();
  auto operand = [&](int number) {
    return number < 0 ? nullptr
                      : static_cast<const std::byte *>(
                            context.operands[static_cast<size_t>(number)]);
  };
  if (product_.k == 0) {
    return queue.context().check(
        driver.memsetD8Async(reinterpret_cast<CUdeviceptr>(made), 0,
                             static_cast<size_t>(region_.made().bytes()),
                             queue.stream()),
        "fill memory");
  }
  Pointers pointers;
  const std::vector<int> &numbers = region_.productOperands();
  pointers.tensors = {operand(numbers[product_.swapped]),
                      operand(numbers[!product_.swapped]),
                      static_cast<const std::byte *>(made)};
  pointers.residual = isFused_ ? operand(region_.residual()) : nullptr;
  pointers.bias = isFused_ ? operand(region_.bias()) : nullptr;
  auto workspace = reinterpret_cast<intptr_t>(context.workspace) + libraryAt_;
  pointers.workspace =
      reinterpret_cast<void *>(alignUp(workspace, workspaceAlignment));
  Status status;
  product_.forEach([&](const auto &begins, bool isFirst, bool isLast) {
    if (status.isOk()) {
      status = call(pointers, begins, isFirst, isLast, queue.stream());
    }
  });
  return status;
}

Status PreparedProduct::launch(LaunchContext &context) {
  if (isFused_) {
    return multiply(context, context.results[0]);
  }
  void *made = tail_.made(context);
  Status status = fallback_.isUsed() ? fallback_.launch(context, made)
                                     : multiply(context, made);
  return status.isOk() ? tail_.launch(context) : status;
}

template <bool mayRound> static bool acceptsProduct(const CallSite &site) {
  auto plan = ProductPlan::of(site, mayRound);
  return plan && ProductTail::isCoded(plan->region, site);
}

template <bool mayRound> static KernelQuery queryProduct(const CallSite &site) {
  KernelQuery query;
  if (auto plan = ProductPlan::of(site, mayRound)) {
    query.workspaceBytes =
        alignUp(ProductTail::madeBytes(plan->region), bufferAlignment) +
        plan->libraryBytes + workspaceAlignment - bufferAlignment;
  }
  return query;
}

template <bool mayRound>
static std::unique_ptr<PreparedKernel> prepareProduct(const CallSite &site,
                                                      std::string &error) {
  auto plan = ProductPlan::of(site, mayRound);
  if (!plan) {
    error = "nn.matmul: cuBLASLt cannot do this product";
    return nullptr;
  }
  if (auto library = BlasLibrary::open(); !library) {
    error = library.status().message();
    return nullptr;
  }
  ProductTail tail;
  return tail.prepare(plan->region, site, error)
             ? std::make_unique<PreparedProduct>(
                   *plan, std::move(tail), ProductFallback(plan->region, site))
             : nullptr;
}

template <bool mayRound> static constexpr std::array<Kernel, 3> makeKernels() {
  auto make = [](std::string_view op, bool takesCode) {
    Kernel kernel{op,
                  1,
                  KernelUse::Whole,
                  queryProduct<mayRound>,
                  prepareProduct<mayRound>,
                  acceptsProduct<mayRound>};
    kernel.takesCode = takesCode;
    kernel.library = libraryName;
    kernel.mayFallBack = true;
    return kernel;
  };
  return {make("nn.matmul", false), make(fusedOp, false), make(fusedOp, true)};
}

std::span<const Kernel> divisi::rt::cuda::productKernels(bool mayRound) {
  static constexpr auto exact = makeKernels<false>(),
                        rounded = makeKernels<true>();
  return mayRound ? rounded : exact;
}
