//===- BlockingSplit.cpp - A split that may never return ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/BlockingSplit.h"
#include "divisi/Support/Thread.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

ncclConfig_t divisi::rt::nccl::makeConfig(bool shares) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.splitShare = shares;
  return config;
}

Expected<std::shared_ptr<BlockingSplit>>
BlockingSplit::start(std::shared_ptr<const NcclLibrary> library,
                     std::shared_ptr<const cuda::Context> context,
                     ncclComm_t whole, int color, int key) {
  std::shared_ptr<BlockingSplit> split(new BlockingSplit());
  auto thread = Thread::start(
      "splitting a communicator",
      [split, library = std::move(library), context = std::move(context), whole,
       color, key] { split->call(*library, *context, whole, color, key); });
  if (!thread) {
    return thread.status();
  }
  thread->detach();
  return split;
}

void BlockingSplit::call(const NcclLibrary &library,
                         const cuda::Context &context, ncclComm_t whole,
                         int color, int key) {
  context.driver(); // the thread has the context
  ncclConfig_t config = makeConfig(/*shares=*/false);
  ncclResult_t result = library.commSplit(whole, color, key, &made_, &config);
  std::lock_guard lock(mutex_);
  result_ = result;
  if (isAbandoned_ && made_) {
    library.commAbort(made_);
  }
}

std::optional<ncclResult_t> BlockingSplit::result() const {
  std::lock_guard lock(mutex_);
  return result_;
}

void BlockingSplit::abandon() {
  std::lock_guard lock(mutex_);
  isAbandoned_ = true;
  if (result_ && *result_ == ncclInProgress) {
    new std::shared_ptr<BlockingSplit>(shared_from_this()); // NCCL writes to it
  }
}
