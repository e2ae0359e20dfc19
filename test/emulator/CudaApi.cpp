//===- CudaApi.cpp - CUDA's driver, emulated ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libcuda.so.1, and no more: what is asked for beyond that
// is refused. Prototypes are those of NVIDIA's header.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DeviceNumbers.h"
#include "test/emulator/Gpu.h"
#include "test/emulator/GridExecutor.h"
#include "test/emulator/KernelObject.h"

#include <cstring>
#include <cuda.h>

using namespace divisi::emulator;
using divisi::EmulatedFunction;

using Lock = std::lock_guard<std::mutex>;

namespace {

struct Kernel {
  std::string name;
  EmulatedFunction function;
  uint64_t parameters;
};

struct Library {
  KernelObject object;
  Kernel kernel;
};

} // namespace

static Stream &streamOf(CUstream stream) {
  return *reinterpret_cast<Stream *>(stream);
}

static std::shared_ptr<Event> &eventOf(CUevent event) {
  return *reinterpret_cast<std::shared_ptr<Event> *>(event);
}

static CUresult result() {
  return gpus().fault() ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

/// Success if the calling thread has a context, as nearly all calls want.
static CUresult needContext() {
  return currentDevice() < 0 ? CUDA_ERROR_INVALID_CONTEXT : result();
}

CUresult cuInit(unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_LAUNCH_FAILED     ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == CUDA_ERROR_INVALID_IMAGE   ? "CUDA_ERROR_INVALID_IMAGE"
                                                : "CUDA_ERROR_INVALID_VALUE";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  Lock lock(gpus().mutex);
  *text = error == CUDA_ERROR_LAUNCH_FAILED && gpus().fault()
              ? gpus().fault()->c_str()
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
                                              : "refused by the emulator";
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

CUresult cuDeviceGetCount(int *count) {
  *count = gpus().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < gpus().devices ? CUDA_SUCCESS
                                                  : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, size_t(length), "emulated");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

/// A context's handle is the number of its device, and one.
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(uintptr_t(device) + 1);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

CUresult cuCtxSetCurrent(CUcontext context) {
  currentDevice() = int(reinterpret_cast<uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *address = gpus().allocate(currentDevice(), bytes);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr address) {
  Lock lock(gpus().mutex);
  return gpus().free(address) ? result() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*data) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::memset(*data, 0xff, bytes);
  gpus().pin(*data, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *data) {
  Lock lock(gpus().mutex);
  if (!gpus().unpin(data)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(data);
  return CUDA_SUCCESS;
}

/// Copies planes of rows. What the host has that is not pinned is read, or
/// waited for, while the call lasts.
static CUresult copy(const CUDA_MEMCPY3D &plan, CUstream on) {
  std::unique_lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  auto isPageable = [&](CUdeviceptr at, uint64_t pitch, uint64_t height) {
    uint64_t last = ((plan.Depth - 1) * height + plan.Height - 1) * pitch;
    return !gpus().isOfDevice(at) &&
           !gpus().isPinned(at, last + plan.WidthInBytes);
  };
  Stream &stream = streamOf(on);
  auto run = [plan](Touched &touched) { return copyPlanes(plan, touched); };
  gpus().put(stream, {"a copy", run});
  if (isPageable(plan.srcDevice, plan.srcPitch, plan.srcHeight) ||
      isPageable(plan.dstDevice, plan.dstPitch, plan.dstHeight)) {
    gpus().finish(stream, &lock);
  }
  return result();
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
  CUDA_MEMCPY3D plan = {};
  plan.srcDevice = from;
  plan.dstDevice = to;
  plan.WidthInBytes = plan.srcPitch = plan.dstPitch = bytes;
  plan.Height = plan.Depth = 1;
  return copy(plan, stream);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *plan, CUstream stream) {
  auto fits = [&](size_t pitch, size_t height) {
    return pitch >= plan->WidthInBytes &&
           (plan->Depth == 1 || height >= plan->Height);
  };
  bool isKnown = plan->srcMemoryType == CU_MEMORYTYPE_UNIFIED &&
                 plan->dstMemoryType == CU_MEMORYTYPE_UNIFIED &&
                 fits(plan->srcPitch, plan->srcHeight) &&
                 fits(plan->dstPitch, plan->dstHeight) && plan->Height > 0 &&
                 plan->Depth > 0 &&
                 plan->srcXInBytes + plan->dstXInBytes + plan->srcY +
                         plan->dstY + plan->srcZ + plan->dstZ + plan->srcLOD +
                         plan->dstLOD ==
                     0;
  return isKnown ? copy(*plan, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *plan, CUstream stream) {
  CUDA_MEMCPY3D whole = {plan->srcXInBytes, plan->srcY};
  whole.dstXInBytes = plan->dstXInBytes;
  whole.dstY = plan->dstY;
  whole.srcMemoryType = plan->srcMemoryType;
  whole.srcDevice = plan->srcDevice;
  whole.srcPitch = plan->srcPitch;
  whole.dstMemoryType = plan->dstMemoryType;
  whole.dstDevice = plan->dstDevice;
  whole.dstPitch = plan->dstPitch;
  whole.WidthInBytes = plan->WidthInBytes;
  whole.Height = plan->Height;
  whole.Depth = 1;
  return cuMemcpy3DAsync(&whole, stream);
}

/// Fills `height` rows, each with `width` times the pattern.
static CUresult fill(CUdeviceptr to, uint64_t pitch, const void *pattern,
                     uint64_t bytes, size_t width, size_t height,
                     CUstream stream) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  if (to % bytes != 0 || pitch % bytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::string element(static_cast<const char *>(pattern), bytes);
  auto run = [=](Touched &touched) -> std::optional<std::string> {
    for (size_t row = 0; row < height; ++row) {
      uint64_t begin = to + row * pitch;
      std::byte *data = gpus().find(begin, width * bytes);
      if (!data) {
        return "bytes that no device has";
      }
      for (size_t i = 0; i < width; ++i) {
        std::memcpy(data + i * bytes, element.data(), bytes);
      }
      touched.writes.push_back({begin, begin + width * bytes});
    }
    return std::nullopt;
  };
  gpus().put(streamOf(stream), {"a fill", run});
  return result();
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return fill(to, 0, &value, sizeof(value), count, 1, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  return fill(to, 0, &value, sizeof(value), count, 1, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return fill(to, 0, &value, sizeof(value), count, 1, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream) {
  return fill(to, pitch, &value, sizeof(value), width, height, stream);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  // The other kind waits for the default stream, which nobody uses here.
  if (flags != CU_STREAM_NON_BLOCKING) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *stream = reinterpret_cast<CUstream>(gpus().makeStream(currentDevice()));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  Lock lock(gpus().mutex);
  gpus().destroy(&streamOf(stream));
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  Lock lock(gpus().mutex);
  if (gpus().dropsWait()) {
    return result();
  }
  gpus().wait(streamOf(stream), eventOf(event));
  return result();
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(
      new std::shared_ptr<Event>(std::make_shared<Event>()));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete &eventOf(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  Lock lock(gpus().mutex);
  gpus().record(streamOf(stream), eventOf(event));
  return result();
}

CUresult cuEventQuery(CUevent event) {
  Lock lock(gpus().mutex);
  bool isReached = gpus().query(*eventOf(event));
  CUresult wrong = result();
  return wrong ? wrong : isReached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *,
                           void **, unsigned, CUlibraryOption *, void **,
                           unsigned) {
  auto *made = new Library{KernelObject(code), {}};
  if (!made->object.function()) {
    delete made;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *library = reinterpret_cast<CUlibrary>(made);
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) {
  Lock lock(gpus().mutex);
  gpus().finishAll(); // whatever still runs it
  delete reinterpret_cast<Library *>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                            const char *name) {
  auto &all = *reinterpret_cast<Library *>(library);
  all.kernel = {name, all.object.function(), all.object.parameters()};
  *kernel = reinterpret_cast<CUkernel>(&all.kernel);
  return CUDA_SUCCESS;
}

/// A warp has all of its threads, as kernels here expect.
static bool isLaunchable(const LaunchShape &shape) {
  return shape.threads() % 32 == 0 && shape.threads() <= 1024 &&
         shape.blocks() > 0 && shape.gridY < 65536;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  const Kernel kernel = *reinterpret_cast<Kernel *>(function);
  LaunchShape shape{gridX, gridY, blockX, blockY};
  if (gridZ != 1 || blockZ != 1 || sharedBytes != 0 || extra ||
      !isLaunchable(shape)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<uint64_t> values(kernel.parameters); // as they are now
  for (size_t p = 0; p < values.size(); ++p) {
    std::memcpy(&values[p], parameters[p], sizeof(uint64_t));
  }
  auto run = [kernel, shape, values = std::move(values), seed = gpus().draw()](
                 Touched &touched) -> std::optional<std::string> {
    std::vector<uint64_t> launch = {uint64_t(kernel.function), shape.gridX,
                                    shape.gridY, shape.blockX, shape.blockY};
    launch.insert(launch.end(), values.begin(), values.end());
    if (const Touched *known = gpus().knownOf(launch)) {
      touched = *known;
      return std::nullopt;
    }
    static GridExecutor executor(
        [](uint64_t at, uint64_t bytes) { return gpus().find(at, bytes); });
    executor.seed(seed);
    std::vector<const void *> places;
    for (const uint64_t &value : values) {
      places.push_back(&value);
    }
    auto wrong = executor.run(kernel.function, places.data(), shape);
    touched.reads = executor.log().touched(false);
    touched.writes = executor.log().touched(true);
    gpus().keep(std::move(launch), touched);
    return wrong;
  };
  gpus().put(streamOf(stream), {"kernel " + kernel.name, std::move(run)});
  return result();
}
