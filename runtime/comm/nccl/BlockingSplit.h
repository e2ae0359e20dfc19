//===- BlockingSplit.h - A split that may never return ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A caller's communicator may be one that blocks: then ncclCommSplit returns
// when all of its ranks have come, if ever. A thread of its own calls it, which
// is left alone where nobody waits any longer.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_BLOCKINGSPLIT_H
#define DIVISI_RUNTIME_COMM_NCCL_BLOCKINGSPLIT_H

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/comm/nccl/NcclLibrary.h"

#include <mutex>

namespace divisi::rt::nccl {

/// Of communicators that do not block; if it `shares`, parts that are split
/// from one use its buffers and channels (NCCL User Guide, ncclConfig_t,
/// splitShare). Aborting one of such a family may end all of it, so nothing is
/// shared with what a caller has.
ncclConfig_t makeConfig(bool shares);

/// One call of ncclCommSplit.
class BlockingSplit : public std::enable_shared_from_this<BlockingSplit> {
public:
  /// Begins to split `whole` on the GPU of `context`. Fails with Device if the
  /// system has no thread for it.
  static Expected<std::shared_ptr<BlockingSplit>>
  start(std::shared_ptr<const NcclLibrary> library,
        std::shared_ptr<const cuda::Context> context, ncclComm_t whole,
        int color, int key);

  /// What the call has returned, once it has.
  std::optional<ncclResult_t> result() const;
  /// What it has made, when `whole` is ready again; may be null.
  ncclComm_t made() const { return made_; }
  /// Nobody wants what it may still make.
  void abandon();

private:
  BlockingSplit() = default;
  void call(const NcclLibrary &library, const cuda::Context &context,
            ncclComm_t whole, int color, int key);

  mutable std::mutex mutex_;
  std::optional<ncclResult_t> result_;
  bool isAbandoned_ = false;
  ncclComm_t made_ = nullptr; ///< Written by NCCL, also after the call.
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_BLOCKINGSPLIT_H
