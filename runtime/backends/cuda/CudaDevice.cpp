//===- CudaDevice.cpp - A GPU of NVIDIA's ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/CudaKernel.h"

#include <cstring>
#include <limits>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

Expected<std::shared_ptr<const Context>>
Context::retain(std::shared_ptr<const Driver> driver, int ordinal) {
  int count = 0;
  Status status =
      driver->check(driver->deviceGetCount(&count), "count its devices");
  if (status.isOk() && ordinal >= count) {
    status = makeError(ExitCode::Device, "no CUDA device ", ordinal,
                       ": this process sees ", count,
                       "; use fewer devices, or let CUDA_VISIBLE_DEVICES name "
                       "more");
  }
  CUdevice device = 0;
  if (status.isOk()) {
    status = driver->check(driver->deviceGet(&device, ordinal),
                           "open device " + std::to_string(ordinal));
  }
  if (!status.isOk()) {
    return status;
  }
  std::shared_ptr<Context> made(new Context(std::move(driver), device));
  status = made->check(made->driver_->primaryCtxRetain(&made->context_, device),
                       "begin");
  if (!status.isOk()) {
    return status;
  }
  return std::shared_ptr<const Context>(std::move(made));
}

Context::~Context() {
  if (context_) {
    driver_->ctxSetCurrent(context_);
    blas_.reset();
    dnn_.reset();
    driver_->primaryCtxRelease(device_);
  }
}

Status Context::describe(CUresult result, std::string_view what) const {
  return driver_->check(result, std::string(what) + " on device " +
                                    std::to_string(device_));
}

const Driver &Context::driver() const {
  driver_->ctxSetCurrent(context_);
  return *driver_;
}

namespace {

class CudaEvent final : public DeviceEvent {
public:
  CudaEvent(std::shared_ptr<const Context> context, CUevent event)
      : context_(std::move(context)), event_(event) {}
  ~CudaEvent() override { context_->driver().eventDestroy(event_); }
  CUevent event() const { return event_; }

private:
  std::shared_ptr<const Context> context_;
  CUevent event_;
};

/// A graph that can be launched.
class CudaGraph final : public DeviceGraph {
public:
  CudaGraph(std::shared_ptr<const Context> context, CUgraphExec graph)
      : context_(std::move(context)), graph_(graph) {}
  ~CudaGraph() override { context_->driver().graphExecDestroy(graph_); }
  CUgraphExec graph() const { return graph_; }

private:
  std::shared_ptr<const Context> context_;
  CUgraphExec graph_;
};

/// Of the GPU, or pinned memory of the host.
class CudaMemory final : public DeviceMemory {
public:
  using Free = CUresult (*)(const Driver &driver, std::byte *data);
  CudaMemory(std::shared_ptr<const Context> context, std::byte *data,
             int64_t size, Free free)
      : DeviceMemory(data, size), context_(std::move(context)), free_(free) {}
  ~CudaMemory() override {
    if (data()) {
      free_(context_->driver(), data());
    }
  }

private:
  std::shared_ptr<const Context> context_;
  Free free_;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}

  std::string_view space() const override { return spaceName; }
  const void *memoryId() const override { return context_->handle(); }
  Expected<std::unique_ptr<DeviceMemory>> allocate(int64_t bytes) override;
  Expected<std::unique_ptr<DeviceMemory>> allocateHost(int64_t bytes) override;
  Expected<std::unique_ptr<DeviceQueue>> makeQueue() override;
  Expected<std::unique_ptr<DeviceEvent>> makeEvent() override;
  /// All kernels for its space are of the backend.
  Status makeReady(PreparedKernel &kernel) override {
    return static_cast<CudaKernel &>(kernel).makeReady(context_);
  }
  Status copyBox(DeviceQueue *queue, const BoxCopy &copy, const void *source,
                 void *result) override;
  Status fill(DeviceQueue *queue, DType type, ReduceKind kind, void *result,
              int64_t count) override;
  Status record(DeviceQueue &queue, DeviceEvent &event) override;
  Status wait(DeviceQueue &queue, DeviceEvent &event) override;
  Expected<bool> poll(DeviceEvent &event) override;
  bool hasGraphs() const override { return true; }
  Status beginGraph(DeviceQueue &queue) override;
  Expected<std::unique_ptr<DeviceGraph>> endGraph(DeviceQueue &queue) override;
  Status run(DeviceQueue &queue, DeviceGraph &graph) override;

  std::shared_ptr<const Context> context() const { return context_; }

private:
  Status describeShortage(CUresult result, int64_t bytes) const;

  std::shared_ptr<const Context> context_;
};

} // namespace

static CUstream streamOf(DeviceQueue &queue) {
  return static_cast<CudaQueue &>(queue).stream();
}

static CUevent eventOf(DeviceEvent &event) {
  return static_cast<CudaEvent &>(event).event();
}

static CUdeviceptr addressOf(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// Why there are no `bytes`.
Status CudaDevice::describeShortage(CUresult result, int64_t bytes) const {
  size_t left = 0, all = 0;
  std::string what = "allocate " + std::to_string(bytes) + " bytes";
  if (context_->driver().memGetInfo(&left, &all) == CUDA_SUCCESS) {
    what += ", of " + std::to_string(left) + " that are free of " +
            std::to_string(all) + ",";
  }
  return context_->check(result, what);
}

Expected<std::unique_ptr<DeviceMemory>> CudaDevice::allocate(int64_t bytes) {
  CUdeviceptr data = 0;
  if (bytes != 0) {
    CUresult result = context_->driver().memAlloc(&data, size_t(bytes));
    if (result != CUDA_SUCCESS) {
      return describeShortage(result, bytes);
    }
  }
  return std::unique_ptr<DeviceMemory>(std::make_unique<CudaMemory>(
      context_, reinterpret_cast<std::byte *>(data), bytes,
      [](const Driver &driver, std::byte *memory) {
        return driver.memFree(addressOf(memory));
      }));
}

Expected<std::unique_ptr<DeviceMemory>>
CudaDevice::allocateHost(int64_t bytes) {
  void *data = nullptr;
  if (bytes != 0) {
    Status status =
        context_->check(context_->driver().memHostAlloc(
                            &data, size_t(bytes), CU_MEMHOSTALLOC_PORTABLE),
                        "pin " + std::to_string(bytes) + " bytes of the host");
    if (!status.isOk()) {
      return status;
    }
  }
  return std::unique_ptr<DeviceMemory>(std::make_unique<CudaMemory>(
      context_, static_cast<std::byte *>(data), bytes,
      [](const Driver &driver, std::byte *memory) {
        return driver.memFreeHost(memory);
      }));
}

Expected<std::unique_ptr<DeviceQueue>> CudaDevice::makeQueue() {
  CUstream stream = nullptr;
  Status status = context_->check(
      context_->driver().streamCreate(&stream, CU_STREAM_NON_BLOCKING),
      "make a stream");
  if (!status.isOk()) {
    return status;
  }
  return std::unique_ptr<DeviceQueue>(
      std::make_unique<CudaQueue>(context_, stream));
}

Expected<std::unique_ptr<DeviceEvent>> CudaDevice::makeEvent() {
  CUevent event = nullptr;
  Status status = context_->check(
      context_->driver().eventCreate(&event, CU_EVENT_DISABLE_TIMING),
      "make an event");
  if (!status.isOk()) {
    return status;
  }
  return std::unique_ptr<DeviceEvent>(
      std::make_unique<CudaEvent>(context_, event));
}

/// Whether CUDA copies it in one call: rows lie one behind the other, and not
/// too far apart.
static bool isMatrix(const BoxCopy::Rows &rows) {
  auto isPitch = [&](int64_t stride) {
    return stride >= rows.bytes && stride <= std::numeric_limits<int>::max();
  };
  return rows.count > 1 && isPitch(rows.sourceStride) &&
         isPitch(rows.resultStride);
}

/// Addresses are unique over all memories, so CUDA knows which way it goes.
static CUresult copyRows(const Driver &driver, const BoxCopy::Rows &rows,
                         CUdeviceptr source, CUdeviceptr result,
                         CUstream stream) {
  CUdeviceptr from = source + CUdeviceptr(rows.sourceOffset);
  CUdeviceptr to = result + CUdeviceptr(rows.resultOffset);
  CUresult done = CUDA_SUCCESS;
  if (!isMatrix(rows)) {
    for (int64_t i = 0; i < rows.count && done == CUDA_SUCCESS; ++i) {
      done = driver.memcpyAsync(to + CUdeviceptr(i * rows.resultStride),
                                from + CUdeviceptr(i * rows.sourceStride),
                                size_t(rows.bytes), stream);
    }
    return done;
  }
  CUDA_MEMCPY2D plan = {};
  plan.srcMemoryType = plan.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  plan.srcDevice = from;
  plan.srcPitch = size_t(rows.sourceStride);
  plan.dstDevice = to;
  plan.dstPitch = size_t(rows.resultStride);
  plan.WidthInBytes = size_t(rows.bytes);
  plan.Height = size_t(rows.count);
  return driver.memcpy2DAsync(&plan, stream);
}

Status CudaDevice::copyBox(DeviceQueue *queue, const BoxCopy &copy,
                           const void *source, void *result) {
  const Driver &driver = context_->driver();
  CUresult done = CUDA_SUCCESS;
  copy.forEachRows([&](const BoxCopy::Rows &rows) {
    if (done == CUDA_SUCCESS) {
      done = copyRows(driver, rows, addressOf(source), addressOf(result),
                      streamOf(*queue));
    }
  });
  return context_->check(done, "copy");
}

Status divisi::rt::cuda::fillElements(const CudaQueue &queue,
                                      const std::byte *element, int64_t width,
                                      void *result, int64_t count) {
  uint32_t words[2] = {};
  std::memcpy(words, element, static_cast<size_t>(width));
  const Driver &driver = queue.context().driver();
  CUdeviceptr to = addressOf(result);
  CUstream stream = queue.stream();
  auto size = static_cast<size_t>(count);
  CUresult done = CUDA_SUCCESS;
  switch (width) {
  case 1:
    done = driver.memsetD8Async(to, uint8_t(words[0]), size, stream);
    break;
  case 2:
    done = driver.memsetD16Async(to, uint16_t(words[0]), size, stream);
    break;
  case 4:
    done = driver.memsetD32Async(to, words[0], size, stream);
    break;
  default: // each half of all elements
    for (int half = 0; half < 2 && done == CUDA_SUCCESS; ++half) {
      done = driver.memsetD2D32Async(to + 4 * CUdeviceptr(half), 8, words[half],
                                     1, size, stream);
    }
  }
  return queue.context().check(done, "fill memory");
}

Status CudaDevice::fill(DeviceQueue *queue, DType type, ReduceKind kind,
                        void *result, int64_t count) {
  std::byte element[8] = {};
  fillNeutral(type, kind, element, 1);
  return count == 0 ? Status()
                    : fillElements(static_cast<CudaQueue &>(*queue), element,
                                   byteWidth(type), result, count);
}

Status CudaDevice::record(DeviceQueue &queue, DeviceEvent &event) {
  return context_->check(
      context_->driver().eventRecord(eventOf(event), streamOf(queue)),
      "record an event");
}

Status CudaDevice::wait(DeviceQueue &queue, DeviceEvent &event) {
  return context_->check(
      context_->driver().streamWaitEvent(streamOf(queue), eventOf(event), 0),
      "wait for an event");
}

Expected<bool> CudaDevice::poll(DeviceEvent &event) {
  CUresult result = context_->driver().eventQuery(eventOf(event));
  if (result == CUDA_ERROR_NOT_READY) {
    return false;
  }
  Status status = context_->check(result, "finish its work");
  return status.isOk() ? Expected<bool>(true) : status;
}

/// Other threads, with ranks of their own, are not kept from anything.
Status CudaDevice::beginGraph(DeviceQueue &queue) {
  return context_->check(
      context_->driver().streamBeginCapture(
          streamOf(queue), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      "record work");
}

Expected<std::unique_ptr<DeviceGraph>>
CudaDevice::endGraph(DeviceQueue &queue) {
  const Driver &driver = context_->driver();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUresult result = driver.streamEndCapture(streamOf(queue), &graph);
  if (result == CUDA_SUCCESS) {
    result = driver.graphInstantiate(&exec, graph, 0);
    driver.graphDestroy(graph);
  }
  if (result != CUDA_SUCCESS) {
    return context_->check(result, "make a graph of what was recorded");
  }
  return std::unique_ptr<DeviceGraph>(
      std::make_unique<CudaGraph>(context_, exec));
}

Status CudaDevice::run(DeviceQueue &queue, DeviceGraph &graph) {
  return context_->check(
      context_->driver().graphLaunch(static_cast<CudaGraph &>(graph).graph(),
                                     streamOf(queue)),
      "launch a graph");
}

std::shared_ptr<const Context>
divisi::rt::cuda::contextOf(const Device &device) {
  return static_cast<const CudaDevice &>(device).context();
}

Expected<std::shared_ptr<Device>>
divisi::rt::cuda::makeDevice(std::shared_ptr<const Driver> driver,
                             int ordinal) {
  auto context = Context::retain(std::move(driver), ordinal);
  if (!context) {
    return context.status();
  }
  return std::shared_ptr<Device>(
      std::make_shared<CudaDevice>(std::move(*context)));
}
