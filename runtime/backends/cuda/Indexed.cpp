//===- Indexed.cpp - Code that goes by indices ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridScatter.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PreparedLaunches.h"
#include "runtime/kernels/Families.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// Copies what the kernel says of indices to the host, which looks at it when
/// that has ended.
class PreparedIndexed final : public PreparedLaunches {
public:
  /// Of a launch that writes GridGather::Found, of what `check` describes.
  PreparedIndexed(GridLaunch launch, const IndexCheck &check)
      : PreparedLaunches({std::move(launch)}), check_(check) {}
  ~PreparedIndexed() override {
    if (found_) {
      context_->driver().memFreeHost(found_);
    }
  }

  /// Pins memory, too.
  Status makeReady(const std::shared_ptr<const Context> &context) override {
    Status status = PreparedLaunches::makeReady(context);
    if (!status.isOk() || !check_.isOn()) {
      return status;
    }
    void *pinned = nullptr;
    status = context->check(
        context->driver().memHostAlloc(&pinned, sizeof(GridGather::Found),
                                       CU_MEMHOSTALLOC_PORTABLE),
        "pin memory for bad indices");
    if (status.isOk()) {
      context_ = context;
      found_ = static_cast<GridGather::Found *>(pinned);
      *found_ = GridGather::Found{GridGather::none, 0};
    }
    return status;
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
  Status bringFound(CudaQueue &queue, void *workspace) {
    const Context &gpu = queue.context();
    return gpu.check(
        gpu.driver().memcpyAsync(reinterpret_cast<CUdeviceptr>(found_),
                                 reinterpret_cast<CUdeviceptr>(workspace),
                                 sizeof(GridGather::Found), queue.stream()),
        "copy bad indices");
  }

  IndexCheck check_;
  GridGather::Found *found_ = nullptr;     ///< Of the host, pinned.
  std::shared_ptr<const Context> context_; ///< For which it is.
};

} // namespace

template <typename Plan> static bool accepts(const CallSite &site) {
  return isGridTarget(site.code->target) && Plan::of(site).has_value();
}

static KernelQuery queryGather(const CallSite &) {
  KernelQuery query;
  query.workspaceBytes = sizeof(GridGather::Found);
  return query;
}

/// Who writes into a tensor may do so in its place.
static KernelQuery queryWrite(const CallSite &site) {
  KernelQuery query = queryInPlace(site);
  std::erase_if(query.inPlace,
                [](const auto &pair) { return pair.first != 0; });
  query.workspaceBytes = sizeof(GridGather::Found);
  return query;
}

template <typename Plan>
static std::unique_ptr<PreparedKernel> prepare(const CallSite &site,
                                               std::string &error) {
  Plan plan = *Plan::of(site);
  return prepareCode<PreparedIndexed>(site, error, plan.launch(), plan.check);
}

template <typename Plan>
static constexpr Kernel makeKernel(std::string_view op,
                                   KernelQuery (*query)(const CallSite &)) {
  Kernel kernel{op, 1, KernelUse::Whole, query, prepare<Plan>, accepts<Plan>};
  kernel.takesCode = true;
  return kernel;
}

std::span<const Kernel> divisi::rt::cuda::indexedKernels() {
  static constexpr Kernel kernels[] = {
      makeKernel<GridGather>("nn.gather", queryGather),
      makeKernel<GridInsert>("nn.insert", queryWrite),
      makeKernel<GridScatter>("nn.scatter", queryWrite),
      makeKernel<GridGather>("nn.take_along", queryGather)};
  return kernels;
}
