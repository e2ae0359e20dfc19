//===- Matmul.cpp - Matrix products by cuBLASLt ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product, and the regions that begin with one: what the library does not do
// on the way is the compiler's code (ProductRegion.h). The workspace has what
// lies between the two, unless the code goes over it in a result, and then what
// the library wants.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/BlasProduct.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/ProductTail.h"

#include <algorithm>
#include <limits>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

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
  // The library knows no sums of nothing, and one bias for all of its calls.
  bool hasEnd = region->done() > 1;
  auto hasColumns = [&](const StridedProduct::Loop &loop) {
    return loop.strides[RightMatrix] != 0 && loop.strides[LeftMatrix] == 0;
  };
  if ((isNarrow && !product->sums.empty()) || (product->k == 0 && hasEnd) ||
      (region->bias() >= 0 &&
       std::ranges::any_of(product->loops, hasColumns))) {
    return std::nullopt;
  }
  int64_t partial = 4 * int64_t(sizeof(float)) * region->made().count();
  return ProductPlan{
      *std::move(region), *std::move(product), *types,
      std::min(alignUp(partial, workspaceAlignment), mostWorkspaceBytes)};
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

class PreparedProduct final : public PreparedKernel {
public:
  PreparedProduct(const ProductPlan &plan, ProductTail tail)
      : region_(plan.region), product_(plan.product), types_(plan.types),
        libraryBytes_(plan.libraryBytes),
        libraryAt_(
            alignUp(ProductTail::madeBytes(plan.region), bufferAlignment)),
        tail_(std::move(tail)) {
    CallSite single = plan.region.product();
    for (size_t t = 0; t < 3; ++t) {
      size_t operand = t == LeftMatrix ? product_.swapped : !product_.swapped;
      DType type = t == ResultMatrix ? region_.made().type
                                     : single.operands[operand].type;
      widths_[t] = byteWidth(type);
      alignments_[t] = alignmentOf(product_, t, type);
    }
  }

  Status launch(LaunchContext &context) override;

private:
  struct Pointers {
    std::array<const std::byte *, 3> tensors;
    const std::byte *residual, *bias;
    void *workspace;
  };

  Status multiply(LaunchContext &context, void *made);
  Status call(const Context &gpu, const Pointers &pointers,
              const std::array<int64_t, 3> &begins, bool isFirst, bool isLast,
              CUstream stream);

  ProductRegion region_;
  StridedProduct product_;
  ProductTypes types_;
  int64_t libraryBytes_, libraryAt_; ///< In the workspace.
  std::array<int64_t, 3> widths_;
  std::array<uint32_t, 3> alignments_;
  ProductTail tail_;
  /// By whether it is the first and the last of a sum; made when first wanted,
  /// since they are of one GPU.
  std::unique_ptr<BlasProduct> calls_[2][2];
};

} // namespace

Status PreparedProduct::call(const Context &gpu, const Pointers &pointers,
                             const std::array<int64_t, 3> &begins, bool isFirst,
                             bool isLast, CUstream stream) {
  std::unique_ptr<BlasProduct> &known = calls_[isFirst][isLast];
  if (!known) {
    auto blas = gpu.blas();
    if (!blas) {
      return blas.status();
    }
    ProductEnd end;
    end.adds = !isFirst || pointers.residual;
    end.hasBias = isLast && pointers.bias;
    end.hasGelu = isLast && region_.hasGelu();
    auto made = BlasProduct::make(**blas, product_, types_, end, alignments_,
                                  libraryBytes_);
    if (!made) {
      return made.status();
    }
    known = std::move(*made);
  }
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
  return known->run(places, stream);
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
  pointers.residual = operand(region_.residual());
  pointers.bias = operand(region_.bias());
  auto workspace = reinterpret_cast<intptr_t>(context.workspace) + libraryAt_;
  pointers.workspace =
      reinterpret_cast<void *>(alignUp(workspace, workspaceAlignment));
  Status status;
  product_.forEach([&](const auto &begins, bool isFirst, bool isLast) {
    if (status.isOk()) {
      status = call(queue.context(), pointers, begins, isFirst, isLast,
                    queue.stream());
    }
  });
  return status;
}

Status PreparedProduct::launch(LaunchContext &context) {
  Status status = multiply(context, tail_.made(context));
  return status.isOk() ? tail_.launch(context) : status;
}

/// Without code the library has to do all of it.
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
    // Each element of what is added to is read by who writes it.
    bool isOver = plan->region.residual() >= 0 && !plan->region.hasTail() &&
                  plan->product.sums.empty();
    int residual = plan->region.residual();
    bool isOther =
        !std::ranges::count(plan->region.productOperands(), residual);
    if (isOver && isOther && residual != plan->region.bias()) {
      query.inPlace.emplace_back(residual, 0);
    }
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
             ? std::make_unique<PreparedProduct>(*plan, std::move(tail))
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
    kernel.library = "cuBLASLt";
    return kernel;
  };
  return {make("nn.matmul", false), make(fusedOp, false), make(fusedOp, true)};
}

std::span<const Kernel> divisi::rt::cuda::productKernels(bool mayRound) {
  static constexpr auto exact = makeKernels<false>(),
                        rounded = makeKernels<true>();
  return mayRound ? rounded : exact;
}
