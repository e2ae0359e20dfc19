//===- CudaApi.cpp - CUDA's driver, emulated ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libcuda.so.1, and no more: what is asked for beyond that
// is refused. Prototypes are those of NVIDIA's header. What works on streams is
// in CudaWork.cpp.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/GpuOverhead.h"
#include "test/emulator/CudaState.h"
#include "test/emulator/DeviceNumbers.h"

#include <cstring>
#include <map>
#include <tuple>

using namespace divisi::emulator;
using divisi::rt::GpuOverhead;

CUresult cuInit(unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// DIVISI_EMULATOR_DRIVER is another one.
CUresult cuDriverGetVersion(int *version) {
  *version = int(fromEnvironment("DIVISI_EMULATOR_DRIVER", CUDA_VERSION));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
#define DIVISI_ERROR(number)                                                   \
  case number:                                                                 \
    *name = #number;                                                           \
    return CUDA_SUCCESS;
    DIVISI_ERROR(CUDA_ERROR_LAUNCH_FAILED)
    DIVISI_ERROR(CUDA_ERROR_OUT_OF_MEMORY)
    DIVISI_ERROR(CUDA_ERROR_INVALID_CONTEXT)
    DIVISI_ERROR(CUDA_ERROR_INVALID_HANDLE)
    DIVISI_ERROR(CUDA_ERROR_INVALID_IMAGE)
    DIVISI_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU)
    DIVISI_ERROR(CUDA_ERROR_INVALID_VALUE)
    DIVISI_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS)
    DIVISI_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE)
    DIVISI_ERROR(CUDA_ERROR_UNKNOWN)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    DIVISI_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    DIVISI_ERROR(CUDA_ERROR_CAPTURED_EVENT)
#undef DIVISI_ERROR
  default:
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  Lock lock(gpus().mutex);
  *text = error == CUDA_ERROR_LAUNCH_FAILED && gpus().fault()
              ? gpus().fault()->c_str()
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS
              ? "an illegal memory access was encountered"
          : error == CUDA_ERROR_ECC_UNCORRECTABLE
              ? "uncorrectable ECC error encountered"
          : error == CUDA_ERROR_UNKNOWN ? "unknown error"
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
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 4;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDeviceGetPCIBusId(char *address, int length, CUdevice device) {
  std::snprintf(address, size_t(length), "%s", pciAddress(device).c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = gpus().bytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  *can = device != peer;
  return CUDA_SUCCESS;
}

/// How often each is retained.
static std::map<CUdevice, int> &primaryContexts() {
  static std::map<CUdevice, int> all;
  return all;
}

/// A context's handle is the number of its device, and one.
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  Lock lock(gpus().mutex);
  if (primaryContexts()[device] == 0 &&
      !gpus().charge(device, Charge::Context, GpuOverhead::contextBytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++primaryContexts()[device];
  *context = reinterpret_cast<CUcontext>(uintptr_t(device) + 1);
  return CUDA_SUCCESS;
}

/// It stays in the process, as what is in it.
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

CUresult cuCtxSetCurrent(CUcontext context) {
  currentDevice() = int(reinterpret_cast<uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext context, unsigned flags) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  gpus().synchronize(currentDevice(), "cuCtxEnablePeerAccess");
  int peer = int(reinterpret_cast<uintptr_t>(context)) - 1;
  if (flags != 0 || peer == currentDevice() || peer < 0 ||
      peer >= gpus().devices) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return gpus().joinPeers(currentDevice(), peer)
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  gpus().synchronize(currentDevice(), "cuMemAlloc");
  *address = gpus().allocate(currentDevice(), bytes);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr address) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  if (int device = gpus().deviceOf(address); device >= 0) {
    gpus().synchronize(device, "cuMemFree");
  }
  return gpus().free(address) ? result() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetInfo(size_t *left, size_t *all) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  std::tie(*left, *all) = gpus().bytesOf(currentDevice());
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  gpus().synchronize(currentDevice(), "cuMemHostAlloc");
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
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  if (CUresult wrong =
          currentDevice() < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS) {
    return wrong;
  }
  gpus().synchronize(currentDevice(), "cuMemFreeHost");
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
  if (gpus().failsNextCopy()) {
    return CUDA_ERROR_ECC_UNCORRECTABLE;
  }
  auto isPageable = [plan](CUdeviceptr at, uint64_t pitch, uint64_t height) {
    uint64_t last = ((plan.Depth - 1) * height + plan.Height - 1) * pitch;
    return !gpus().isOfDevice(at) &&
           !gpus().isPinned(at, last + plan.WidthInBytes);
  };
  Stream &stream = streamOf(on);
  bool isOfHost = isPageable(plan.srcDevice, plan.srcPitch, plan.srcHeight) ||
                  isPageable(plan.dstDevice, plan.dstPitch, plan.dstHeight);
  if (stream.capture && isOfHost) {
    return refuseInCapture();
  }
  bool isCaptured = stream.capture != nullptr;
  auto run = [plan, isCaptured, isPageable](Touched &touched) {
    // What was captured may be done when its memory has gone.
    bool isLost = isCaptured &&
                  (isPageable(plan.srcDevice, plan.srcPitch, plan.srcHeight) ||
                   isPageable(plan.dstDevice, plan.dstPitch, plan.dstHeight));
    return isLost ? std::optional<std::string>(
                        "bytes of the host that are not pinned any more")
                  : copyPlanes(plan, touched);
  };
  gpus().put(stream, {"a copy", run});
  if (isOfHost) {
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
      std::byte *data = gpus().isPinned(begin, width * bytes)
                            ? reinterpret_cast<std::byte *>(begin)
                            : gpus().find(begin, width * bytes);
      if (!data) {
        return "bytes that no device has, and that are not pinned";
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
