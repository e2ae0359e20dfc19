//===- Products.cpp - Matrix products and softmax on a device -------------===//
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

/// An operator of `operands` tensors like its result, with all that it needs.
/// On the host a second operand is constant, as weights are, and packed before.
class KernelWork final : public DeviceWork {
public:
  KernelWork(const DeviceClock &clock, std::string op, Attributes attributes,
             size_t operands, TensorInfo result, int threads)
      : clock_(clock), threads_(threads), op_(std::move(op)),
        attributes_(std::move(attributes)), operands_(operands, result),
        result_(result) {}

  /// Success and not ready where none of `backends` has a kernel for it.
  Status prepare(std::span<const Backend *const> backends);
  bool isReady() const { return kernel_ != nullptr; }
  Status put() override {
    size_t count = operands_.size();
    const void *operands[] = {memories_[0]->data(), memories_[1]->data()};
    void *results[] = {memories_[count]->data()};
    LaunchContext context{
        {operands, count}, results, memories_[count + 1]->data(), threads_};
    context.queue = clock_.queue();
    return kernel_->launch(context);
  }

private:
  Status allocate(int64_t bytes);
  Status give(DeviceMemory &memory);

  const DeviceClock &clock_;
  int threads_;
  std::string op_;
  Attributes attributes_;
  std::vector<TensorInfo> operands_; ///< One or two.
  TensorInfo result_;
  /// Of operands, result and workspace.
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
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
Status KernelWork::give(DeviceMemory &memory) {
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

Status KernelWork::allocate(int64_t bytes) {
  auto memory = clock_.device().allocate(bytes);
  if (!memory) {
    return memory.status();
  }
  memories_.push_back(std::move(*memory));
  return {};
}

Status KernelWork::prepare(std::span<const Backend *const> backends) {
  for (size_t tensor = 0; tensor <= operands_.size(); ++tensor) {
    if (Status status = allocate(result_.bytes()); !status.isOk()) {
      return status;
    }
  }
  CallSite site{op_, attributes_, operands_, {&result_, 1}, {}, threads_};
  const Constant constants[] = {nullptr, memories_[1]->data()};
  if (operands_.size() == 2 && clock_.device().space() == hostSpace) {
    site.constants = constants; // What is asked of the workspace depends on it.
  }
  const Kernel *kernel = nullptr;
  for (const Backend *backend : backends) {
    kernel = kernel ? kernel : backend->find(site);
  }
  if (!kernel) {
    return {};
  }
  for (size_t operand = 0; operand != operands_.size(); ++operand) {
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

/// Null if none of `backends` has a kernel for it.
static Expected<std::unique_ptr<DeviceWork>>
prepared(std::unique_ptr<KernelWork> work,
         std::span<const Backend *const> backends) {
  if (Status status = work->prepare(backends); !status.isOk()) {
    return status;
  }
  return work->isReady() ? std::unique_ptr<DeviceWork>(std::move(work))
                         : nullptr;
}

Expected<std::unique_ptr<DeviceWork>>
divisi::rt::makeProduct(const DeviceClock &clock,
                        std::span<const Backend *const> backends, DType type,
                        int64_t edge, int threads) {
  Attributes attributes;
  attributes.set("labels", std::string("mk,kn->mn"));
  return prepared(std::make_unique<KernelWork>(
                      clock, "nn.matmul", std::move(attributes), 2,
                      TensorInfo::whole(type, {edge, edge}), threads),
                  backends);
}

Expected<std::unique_ptr<DeviceWork>>
divisi::rt::makeSoftmax(const DeviceClock &clock,
                        std::span<const Backend *const> backends, int64_t rows,
                        int64_t columns, int threads) {
  Attributes attributes;
  attributes.set("axis", int64_t(1));
  attributes.set("log", int64_t(0));
  return prepared(std::make_unique<KernelWork>(
                      clock, "nn.softmax", std::move(attributes), 1,
                      TensorInfo::whole(DType::F32, {rows, columns}), threads),
                  backends);
}

namespace {
class WorkInTurn final : public DeviceWork {
public:
  explicit WorkInTurn(std::vector<std::unique_ptr<DeviceWork>> works)
      : works_(std::move(works)) {}
  Status put() override { return works_[next_++ % works_.size()]->put(); }

private:
  std::vector<std::unique_ptr<DeviceWork>> works_;
  size_t next_ = 0;
};
} // namespace

std::unique_ptr<DeviceWork>
divisi::rt::takeTurns(std::vector<std::unique_ptr<DeviceWork>> works) {
  return std::make_unique<WorkInTurn>(std::move(works));
}
