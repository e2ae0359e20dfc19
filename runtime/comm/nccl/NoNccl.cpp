//===- NoNccl.cpp - A build without NCCL's header -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/comm/nccl/HostSteps.h"

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Says what is missing where it is wanted.
class NoNccl final : public nccl::HostSteps {
public:
  using HostSteps::HostSteps;
  bool reaches(std::string_view) const override { return true; }
  Expected<std::unique_ptr<QueuedStep>> prepareQueued(const StepDesc &, size_t,
                                                      Device &) override {
    return findNccl();
  }
};

} // namespace

Status divisi::rt::findNccl() {
  return Status(ExitCode::Device,
                "this build of divisi does not support collectives between "
                "GPUs: it found no nccl.h; build it again where NCCL is "
                "installed, or compile the model with --collectives host");
}

Expected<int> divisi::rt::gpuOfCommunicator(void *, uint32_t, uint32_t) {
  return findNccl();
}

std::shared_ptr<Communicator>
divisi::rt::makeNcclCommunicator(std::shared_ptr<Communicator> inner,
                                 const CommunicatorRequest &,
                                 const std::map<uint32_t, NcclHandles> &) {
  return std::make_shared<NoNccl>(std::move(inner));
}
