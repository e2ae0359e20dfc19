//===- PreparedLaunches.cpp - Kernels of the compiler's -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/PreparedLaunches.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

PreparedLaunches::Present::Present(GridLaunch from)
    : launch(std::move(from)), pointers(launch.pointers.size()) {
  for (const void *&pointer : pointers) {
    parameters.push_back(&pointer);
  }
  for (int64_t &number : launch.numbers) {
    parameters.push_back(&number);
  }
}

PreparedLaunches::PreparedLaunches(std::vector<GridLaunch> launches) {
  for (GridLaunch &launch : launches) {
    launches_.emplace_back(std::move(launch));
  }
}

Status PreparedLaunches::load(std::span<const std::byte> bytes) {
  auto library = GridLibrary::open(bytes);
  if (library) {
    library_ = std::move(*library);
  }
  return library.status();
}

Status
PreparedLaunches::makeReady(const std::shared_ptr<const Context> &context) {
  auto function = library_->functionIn(*context);
  function_ = function ? *function : nullptr;
  return function.status();
}

static const void *tensorOf(const LaunchContext &context, int tensor) {
  if (tensor == GridLaunch::workspace) {
    return context.workspace;
  }
  auto number = static_cast<size_t>(tensor);
  return number < context.operands.size()
             ? context.operands[number]
             : context.results[number - context.operands.size()];
}

Status PreparedLaunches::launch(LaunchContext &context) {
  auto &queue = static_cast<CudaQueue &>(*context.queue);
  Status status;
  for (size_t l = 0; l < launches_.size() && status.isOk(); ++l) {
    Present &present = launches_[l];
    const GridLaunch &launch = present.launch;
    for (size_t p = 0; p < present.pointers.size(); ++p) {
      const GridLaunch::Pointer &pointer = launch.pointers[p];
      present.pointers[p] =
          static_cast<const std::byte *>(tensorOf(context, pointer.tensor)) +
          pointer.begin;
    }
    status = queue.context().check(queue.context().driver().launchKernel(
                                       function_, launch.gridX, launch.gridY, 1,
                                       launch.blockX, launch.blockY, 1, 0,
                                       queue.stream(),
                                       present.parameters.data(), nullptr),
                                   "launch a generated kernel");
  }
  return status;
}
