//===- Move.cpp - Code that moves elements --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/GridLibrary.h"
#include "runtime/kernels/Copy.h"
#include "runtime/kernels/GridMove.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

class PreparedMove final : public PreparedKernel {
public:
  PreparedMove(const CallSite &site, GridMove move,
               std::shared_ptr<const Driver> driver)
      : library_(std::move(driver)), move_(std::move(move)),
        count_(site.results[0].count()) {
    rt::fill(site.results[0].type, element_, 1, move_.fill.value_or(0));
    for (const GridMove::Piece &piece : move_.pieces) {
      numbers_.push_back(move_.numbers(piece));
    }
  }
  Status load(std::span<const std::byte> bytes) { return library_.load(bytes); }

  Status launch(LaunchContext &context) override {
    auto &queue = static_cast<CudaQueue &>(*context.queue);
    Status status;
    if (move_.fill) {
      status = fillElements(queue, element_, move_.width, context.results[0],
                            count_);
    }
    for (size_t p = 0; p < move_.pieces.size() && status.isOk(); ++p) {
      status = move(queue, context, p);
    }
    return status;
  }

private:
  Status move(CudaQueue &queue, const LaunchContext &context, size_t number) {
    const GridMove::Piece &piece = move_.pieces[number];
    const void *to =
        static_cast<std::byte *>(context.results[0]) + piece.toBase;
    const void *from =
        static_cast<const std::byte *>(context.operands[piece.operand]) +
        piece.fromBase;
    parameters_ = {&to, &from};
    for (int64_t &value : numbers_[number]) {
      parameters_.push_back(&value);
    }
    bool isFlat = !move_.hasSquares;
    return queue.context().check(
        queue.context().driver().launchKernel(
            reinterpret_cast<CUfunction>(library_.kernel()),
            move_.blocks(piece), 1, 1,
            isFlat ? GridMove::threads : GridMove::square,
            isFlat ? 1 : GridMove::rowsAtOnce, 1, 0, queue.stream(),
            parameters_.data(), nullptr),
        "launch a generated kernel");
  }

  GridLibrary library_;
  GridMove move_;
  int64_t count_;
  std::byte element_[8] = {};
  std::vector<std::vector<int64_t>> numbers_; ///< Per piece.
  std::vector<void *> parameters_;            ///< Of the present launch.
};

} // namespace

static bool acceptsMove(const CallSite &site) {
  return isGridTarget(site.code->target) && GridMove::of(site).has_value();
}

static KernelQuery queryMove(const CallSite &) { return {}; }

static std::unique_ptr<PreparedKernel> prepareMove(const CallSite &site,
                                                   std::string &error) {
  auto driver = Driver::open();
  Status status = driver.status();
  if (status.isOk()) {
    auto made =
        std::make_unique<PreparedMove>(site, *GridMove::of(site), *driver);
    status = made->load(site.code->bytes);
    if (status.isOk()) {
      return made;
    }
  }
  error = status.message();
  return nullptr;
}

std::span<const Kernel> divisi::rt::cuda::moveKernels() {
  static constexpr auto make = [](std::string_view op) {
    Kernel kernel{op,        1,           KernelUse::Whole,
                  queryMove, prepareMove, acceptsMove};
    kernel.takesCode = true;
    return kernel;
  };
  static constexpr Kernel kernels[] = {make("nn.broadcast"), make("nn.concat"),
                                       make("nn.pad"), make("nn.slice"),
                                       make("nn.transpose")};
  return kernels;
}
