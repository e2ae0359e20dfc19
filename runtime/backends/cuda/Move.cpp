//===- Move.cpp - Code that moves elements --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridMove.h"
#include "divisi/runtime/kernels/Copy.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PreparedLaunches.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// Fills what nothing is moved to first.
class PreparedMove final : public PreparedLaunches {
public:
  PreparedMove(const GridMove &move, const CallSite &site)
      : PreparedLaunches(move.launches(site.operands.size())),
        fills_(move.fill.has_value()), width_(move.width),
        count_(site.results[0].count()) {
    rt::fill(site.results[0].type, element_, 1, move.fill.value_or(0));
  }

  Status launch(LaunchContext &context) override {
    Status status;
    if (fills_) {
      status = fillElements(static_cast<CudaQueue &>(*context.queue), element_,
                            width_, context.results[0], count_);
    }
    return status.isOk() ? PreparedLaunches::launch(context) : status;
  }

private:
  bool fills_;
  int64_t width_, count_;
  std::byte element_[8] = {};
};

} // namespace

static bool acceptsMove(const CallSite &site) {
  return isGridTarget(site.code->target) && GridMove::of(site).has_value();
}

static KernelQuery queryMove(const CallSite &) { return {}; }

static std::unique_ptr<PreparedKernel> prepareMove(const CallSite &site,
                                                   std::string &error) {
  return prepareCode<PreparedMove>(site, error, *GridMove::of(site), site);
}

std::span<const Kernel> divisi::rt::cuda::moveKernels() {
  static constexpr auto make = [](std::string_view op) {
    Kernel kernel{op, 1, KernelUse::Whole, queryMove, prepareMove, acceptsMove};
    kernel.takesCode = true;
    return kernel;
  };
  static constexpr Kernel kernels[] = {make("nn.broadcast"), make("nn.concat"),
                                       make("nn.pad"), make("nn.slice"),
                                       make("nn.transpose")};
  return kernels;
}
