//===- CudaDevice.h - A GPU of NVIDIA's -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queues are streams and events are CUDA's. Memory is that of the primary
// context, which all of a process share that use the GPU.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H

#include "divisi/runtime/device/Device.h"
#include "runtime/backends/cuda/Driver.h"

namespace divisi::rt::cuda {

class BlasHandle;
class DnnHandle;

/// The name of its memory space.
inline constexpr std::string_view spaceName = "cuda";

/// A GPU as this process has it: the driver, and a context to which all belongs
/// that is made for it. Shared by all of it.
class Context {
public:
  /// That of GPU number `ordinal`. Device if it is not there.
  static Expected<std::shared_ptr<const Context>>
  retain(std::shared_ptr<const Driver> driver, int ordinal);
  ~Context();
  Context(const Context &) = delete;

  /// The driver, on a thread that has been told of the context.
  const Driver &driver() const;
  /// Who does products on it, made when first asked for; by one thread at a
  /// time.
  Expected<const BlasHandle *> blas() const;
  /// Who does convolutions; as blas().
  Expected<const DnnHandle *> dnn() const;
  /// The GPU's primary context, which all that retain it have in common.
  CUcontext handle() const { return context_; }
  /// Driver::check(), with the number of the device.
  Status check(CUresult result, std::string_view what) const {
    return result == CUDA_SUCCESS ? Status() : describe(result, what);
  }

private:
  Context(std::shared_ptr<const Driver> driver, CUdevice device)
      : driver_(std::move(driver)), device_(device) {}
  Status describe(CUresult result, std::string_view what) const;

  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  mutable std::shared_ptr<const BlasHandle> blas_;
  mutable std::shared_ptr<const DnnHandle> dnn_;
};

/// A stream, its own or somebody else's.
class CudaQueue final : public DeviceQueue {
public:
  /// Work goes to `stream`, which is destroyed with this object if it `isOwn`.
  CudaQueue(std::shared_ptr<const Context> context, CUstream stream,
            bool isOwn = true)
      : context_(std::move(context)), stream_(stream), isOwn_(isOwn) {}
  ~CudaQueue() override {
    if (isOwn_) {
      context_->driver().streamDestroy(stream_);
    }
  }

  /// The context of the stream's GPU.
  const Context &context() const { return *context_; }
  /// The same, to be kept alive.
  std::shared_ptr<const Context> shared() const { return context_; }
  /// Where the driver puts the work.
  CUstream stream() const { return stream_; }

private:
  std::shared_ptr<const Context> context_;
  CUstream stream_;
  bool isOwn_;
};

/// Lets so many elements at `result`, of 1, 2, 4 or 8 bytes, be `element`.
Status fillElements(const CudaQueue &queue, const std::byte *element,
                    int64_t width, void *result, int64_t count);

/// That of a device of that space.
std::shared_ptr<const Context> contextOf(const Device &device);

/// GPU number `ordinal` of this machine, as CUDA counts them. Device if there
/// is none, or no driver.
Expected<std::shared_ptr<Device>>
makeDevice(std::shared_ptr<const Driver> driver, int ordinal);

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H
