//===- NcclBuffers.cpp - Memory that NCCL knows ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclBuffers.h"
#include "runtime/backends/cuda/FunctionTable.h"

#include <utility>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

/// NCCL's, or that of the device in it.
class NcclBuffers::Memory final : public DeviceMemory {
public:
  Memory(std::shared_ptr<NcclBuffers> all, std::byte *data, int64_t size)
      : DeviceMemory(data, size), all_(std::move(all)) {}
  Memory(std::shared_ptr<NcclBuffers> all, std::unique_ptr<DeviceMemory> inner)
      : DeviceMemory(inner->data(), inner->size()), all_(std::move(all)),
        inner_(std::move(inner)) {}
  ~Memory() override {
    all_->forget(data());
    if (!inner_) {
      all_->context_->driver(); // the thread has the context
      all_->library_->memFree(data());
    }
  }

private:
  std::shared_ptr<NcclBuffers> all_;
  std::unique_ptr<DeviceMemory> inner_;
};

Expected<std::unique_ptr<DeviceMemory>> NcclBuffers::allocate(Device &device,
                                                              int64_t bytes) {
  if (bytes == 0 || !library_->registers()) {
    return device.allocate(bytes);
  }
  context_->driver(); // the thread has the context
  void *data = nullptr;
  std::unique_ptr<DeviceMemory> made;
  if (library_->memAlloc(&data, size_t(bytes)) == ncclSuccess) {
    made = std::make_unique<Memory>(shared_from_this(),
                                    static_cast<std::byte *>(data), bytes);
  } else {
    auto inner = device.allocate(bytes);
    if (!inner) {
      return inner;
    }
    made = std::make_unique<Memory>(shared_from_this(), std::move(*inner));
  }
  memories_[made->data()] = bytes;
  return made;
}

Status NcclBuffers::add(ncclComm_t communicator) {
  if (!library_->registers()) {
    return makeError(ExitCode::Device, "NCCL ",
                     cuda::nameOfLibraryVersion(library_->version),
                     " registers none");
  }
  context_->driver(); // the thread has the context
  Status status;
  for (auto [data, size] : memories_) {
    void *handle = nullptr;
    status = library_->check(
        library_->commRegister(communicator, data, size_t(size), &handle),
        communicator, "register " + std::to_string(size) + " bytes");
    if (!status.isOk()) {
      break;
    }
    handles_[communicator][data] = handle;
  }
  return status;
}

void NcclBuffers::remove(ncclComm_t communicator) {
  context_->driver(); // the thread has the context
  auto known = handles_.extract(communicator);
  if (known.empty()) {
    return;
  }
  for (auto [data, handle] : known.mapped()) {
    library_->commDeregister(communicator, handle);
  }
}

/// Before it is freed.
void NcclBuffers::forget(std::byte *data) {
  context_->driver(); // the thread has the context
  memories_.erase(data);
  for (auto &[communicator, handles] : handles_) {
    if (auto known = handles.extract(data); !known.empty()) {
      library_->commDeregister(communicator, known.mapped());
    }
  }
}
