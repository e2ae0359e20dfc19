//===- Products.cpp - Matrix products on a device -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/measure/Measure.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// A product with all that it needs. On the host its right operand is constant,
/// as weights are, and packed before.
class ProductWork final : public DeviceWork {
public:
  ProductWork(const DeviceClock &clock, DType type, int64_t edge, int threads)
      : clock_(clock), threads_(threads),
        operands_(2, TensorInfo::whole(type, {edge, edge})),
        result_(operands_[0]) {
    attributes_.set("labels", std::string("mk,kn->mn"));
  }

  /// Success and not ready where none of `backends` has a kernel for it.
  Status prepare(std::span<const Backend *const> backends);
  bool isReady() const { return kernel_ != nullptr; }
  Status put() override {
    const void *operands[] = {memories_[0]->data(), memories_[1]->data()};
    void *results[] = {memories_[2]->data()};
    LaunchContext context{operands, results, memories_[3]->data(), threads_};
    context.queue = clock_.queue();
    return kernel_->launch(context);
  }

private:
  Status allocate(int64_t bytes);
  Status give(DeviceMemory &memory);

  const DeviceClock &clock_;
  int threads_;
  Attributes attributes_;
  std::vector<TensorInfo> operands_;
  TensorInfo result_;
  std::vector<std::unique_ptr<DeviceMemory>> memories_; ///< And the workspace.
  std::unique_ptr<PreparedKernel> kernel_;
};

} // namespace

/// Numbers that are neither zeros, which take less power to multiply, nor so
/// small that they take longer.
static Expected<HostTensor> drawNumbers(DType type, int64_t count) {
  auto numbers = HostTensor::allocate(DType::F32, {count});
  if (!numbers) {
    return numbers.status();
  }
  for (int64_t i = 0; i < count; ++i) {
    numbers->as<float>()[size_t(i)] = float(i * 37 % 31 - 15) / 8;
  }
  return numbers->castTo(type);
}

/// The same numbers again and again.
Status ProductWork::give(DeviceMemory &memory) {
  constexpr int64_t most = int64_t(1) << 20;
  DType type = operands_[0].type;
  int64_t count = std::min(most, operands_[0].count());
  auto numbers = drawNumbers(type, count);
  if (!numbers) {
    return numbers.status();
  }
  int64_t bytes = operands_[0].bytes(), piece = count * byteWidth(type);
  for (int64_t at = 0; at < bytes; at += piece) {
    Box box = Box::whole({std::min(piece, bytes - at)});
    Status status =
        clock_.device().copyBox(clock_.queue(), BoxCopy(1, box, box, box),
                                numbers->data(), memory.data() + at);
    if (!status.isOk()) {
      return status;
    }
  }
  return clock_.finish();
}

Status ProductWork::allocate(int64_t bytes) {
  auto memory = clock_.device().allocate(bytes);
  if (!memory) {
    return memory.status();
  }
  memories_.push_back(std::move(*memory));
  return {};
}

Status ProductWork::prepare(std::span<const Backend *const> backends) {
  for (const TensorInfo *info : {&operands_[0], &operands_[1], &result_}) {
    if (Status status = allocate(info->bytes()); !status.isOk()) {
      return status;
    }
  }
  CallSite site{"nn.matmul",   attributes_, operands_,
                {&result_, 1}, {},          threads_};
  const Constant constants[] = {nullptr, memories_[1]->data()};
  if (clock_.device().space() == hostSpace) {
    site.constants = constants; // What is asked of the workspace depends on it.
  }
  const Kernel *kernel = nullptr;
  for (const Backend *backend : backends) {
    kernel = kernel ? kernel : backend->find(site);
  }
  if (!kernel) {
    return {};
  }
  for (size_t operand : {0, 1}) {
    if (Status status = give(*memories_[operand]); !status.isOk()) {
      return status;
    }
  }
  if (Status status = allocate(kernel->query(site).workspaceBytes);
      !status.isOk()) {
    return status;
  }
  std::string error;
  kernel_ = kernel->prepare(site, error);
  return kernel_ ? clock_.device().makeReady(*kernel_)
                 : Status(ExitCode::Device, error);
}

Expected<std::unique_ptr<DeviceWork>>
divisi::rt::makeProduct(const DeviceClock &clock,
                        std::span<const Backend *const> backends, DType type,
                        int64_t edge, int threads) {
  auto work = std::make_unique<ProductWork>(clock, type, edge, threads);
  if (Status status = work->prepare(backends); !status.isOk()) {
    return status;
  }
  return work->isReady() ? std::unique_ptr<DeviceWork>(std::move(work))
                         : nullptr;
}
