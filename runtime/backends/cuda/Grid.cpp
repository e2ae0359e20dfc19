//===- Grid.cpp - Kernels of the code generator ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/GridLibrary.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/GridCode.h"
#include "runtime/kernels/RowCall.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// One launch of a call.
struct Piece {
  RowCall::Piece piece;
  std::vector<int64_t> numbers;
  GridShape shape;
  std::vector<const void *> pointers; ///< Of the present launch.
  std::vector<void *> parameters;     ///< Where these, and the numbers, are.

  explicit Piece(RowCall::Piece from)
      : piece(std::move(from)), numbers(gridNumbers(piece.nest)),
        shape(GridShape::of(piece.nest)), pointers(piece.tensors.size()) {
    for (const void *&pointer : pointers) {
      parameters.push_back(&pointer);
    }
    for (int64_t &number : numbers) {
      parameters.push_back(&number);
    }
  }

  void point(const LaunchContext &context) {
    for (size_t t = 0; t < pointers.size(); ++t) {
      auto number = static_cast<size_t>(piece.tensors[t]);
      const void *tensor = number < context.operands.size()
                               ? context.operands[number]
                               : context.results[number -
                                                 context.operands.size()];
      pointers[t] = static_cast<const std::byte *>(tensor) + piece.begins[t];
    }
  }
};

class PreparedGrid final : public PreparedKernel {
public:
  PreparedGrid(const RowCall &call, std::shared_ptr<const Driver> driver)
      : library_(std::move(driver)) {
    for (RowCall::Piece &piece : call.pieces()) {
      pieces_.emplace_back(std::move(piece));
    }
  }
  Status load(std::span<const std::byte> bytes) { return library_.load(bytes); }

  Status launch(LaunchContext &context) override {
    auto &queue = static_cast<CudaQueue &>(*context.queue);
    Status status;
    for (size_t p = 0; p < pieces_.size() && status.isOk(); ++p) {
      Piece &piece = pieces_[p];
      piece.point(context);
      status = queue.context().check(
          queue.context().driver().launchKernel(
              reinterpret_cast<CUfunction>(library_.kernel()),
              piece.shape.rowBlocks, piece.shape.columnBlocks, 1,
              piece.shape.lanes, piece.shape.rowsOfBlock, 1, 0, queue.stream(),
              piece.parameters.data(), nullptr),
          "launch a generated kernel");
    }
    return status;
  }

private:
  GridLibrary library_;
  std::vector<Piece> pieces_;
};

} // namespace

bool divisi::rt::cuda::acceptsGrid(const CallSite &site) {
  return isGridTarget(site.code->target) && RowCall::of(site).has_value();
}

/// A thread reads all elements that it needs before it writes the one that may
/// lie over them.
static KernelQuery queryGrid(const CallSite &site) {
  KernelQuery query;
  RowCall call = *RowCall::of(site);
  const RowNest &nest = call.nest();
  size_t first = nest.tensors.size() - site.results.size();
  for (size_t o = 0; o < site.operands.size(); ++o) {
    int tensor = call.tensorOf(static_cast<int>(o));
    for (size_t r = 0; r < site.results.size() && tensor >= 0; ++r) {
      const RowNest::Tensor &from = nest.tensors[tensor];
      const RowNest::Tensor &to = nest.tensors[first + r];
      if (from.strides == to.strides &&
          byteWidth(from.type) == byteWidth(to.type)) {
        query.inPlace.emplace_back(int(o), int(r));
      }
    }
  }
  return query;
}

std::unique_ptr<PreparedKernel>
divisi::rt::cuda::prepareGrid(const CallSite &site, std::string &error) {
  auto driver = Driver::open();
  Status status = driver.status();
  if (status.isOk()) {
    auto made = std::make_unique<PreparedGrid>(*RowCall::of(site), *driver);
    status = made->load(site.code->bytes);
    if (status.isOk()) {
      return made;
    }
  }
  error = status.message();
  return nullptr;
}

static std::vector<Kernel> makeKernels() {
  std::vector<Kernel> kernels;
  auto add = [&](std::string_view op, int version) {
    kernels.push_back({op, version, KernelUse::Whole, queryGrid, prepareGrid,
                       acceptsGrid, /*takesFormats=*/true, /*takesCode=*/true});
  };
  add(fusedOp, 1);
  for (const Kernel &kernel : referenceBackend().kernels()) {
    if (isElementwise(kernel.op) || isRowOperator(kernel.op)) {
      add(kernel.op, kernel.version);
    }
  }
  return kernels;
}

std::span<const Kernel> divisi::rt::cuda::gridKernels() {
  static const std::vector<Kernel> kernels = makeKernels();
  return kernels;
}
