//===- Gather.cpp - Gathers by the compiler's code ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PreparedLaunches.h"
#include "runtime/kernels/GridCode.h"
#include "runtime/kernels/GridGather.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// Copies what the kernel says of indices to the host, which looks at it when
/// that has ended.
class PreparedGather final : public PreparedLaunches {
public:
  PreparedGather(std::shared_ptr<const Driver> driver, const GridGather &gather)
      : PreparedLaunches(std::move(driver), {gather.launch()}),
        check_(gather.check) {}
  ~PreparedGather() override {
    if (found_) {
      context_->driver().memFreeHost(found_);
    }
  }

  Status launch(LaunchContext &context) override {
    auto &queue = static_cast<CudaQueue &>(*context.queue);
    Status status = PreparedLaunches::launch(context);
    if (status.isOk() && check_.isOn()) {
      status = bringFound(queue, context.workspace);
    }
    return status;
  }
  void collect(LaunchContext &context) override {
    if (found_ && found_->number != GridGather::none) {
      context.note(check_.describe(found_->number, found_->index));
    }
  }

private:
  /// To memory that is pinned in the first run, when it is known for which GPU.
  Status bringFound(CudaQueue &queue, void *workspace) {
    const Context &gpu = queue.context();
    constexpr size_t bytes = sizeof(GridGather::Found);
    if (!found_) {
      void *pinned = nullptr;
      Status status = gpu.check(
          gpu.driver().memHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE),
          "pin memory for what is said of indices");
      if (!status.isOk()) {
        return status;
      }
      found_ = static_cast<GridGather::Found *>(pinned);
      context_ = queue.shared();
    }
    return gpu.check(
        gpu.driver().memcpyAsync(reinterpret_cast<CUdeviceptr>(found_),
                                 reinterpret_cast<CUdeviceptr>(workspace),
                                 bytes, queue.stream()),
        "copy what is said of indices");
  }

  IndexCheck check_;
  GridGather::Found *found_ = nullptr;     ///< Of the host, pinned.
  std::shared_ptr<const Context> context_; ///< For which it is.
};

} // namespace

static bool acceptsGather(const CallSite &site) {
  return isGridTarget(site.code->target) && GridGather::of(site).has_value();
}

static KernelQuery queryGather(const CallSite &) {
  KernelQuery query;
  query.workspaceBytes = sizeof(GridGather::Found);
  return query;
}

static std::unique_ptr<PreparedKernel> prepareGather(const CallSite &site,
                                                     std::string &error) {
  return prepareCode<PreparedGather>(site, error, *GridGather::of(site));
}

std::span<const Kernel> divisi::rt::cuda::gatherKernels() {
  static constexpr auto make = [](std::string_view op) {
    Kernel kernel{op,           1, KernelUse::Whole, queryGather, prepareGather,
                  acceptsGather};
    kernel.takesCode = true;
    return kernel;
  };
  static constexpr Kernel kernels[] = {make("nn.gather"),
                                       make("nn.take_along")};
  return kernels;
}
