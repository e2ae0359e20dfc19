//===- CudaWork.cpp - Streams, graphs and kernels, emulated ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CudaApi.cpp has the rest of the driver.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/CudaState.h"
#include "test/emulator/GridExecutor.h"
#include "test/emulator/KernelObject.h"

#include <cstring>
#include <utility>

using namespace divisi::emulator;
using divisi::EmulatedFunction;

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

static std::shared_ptr<Event> &eventOf(CUevent event) {
  return *reinterpret_cast<std::shared_ptr<Event> *>(event);
}

Capture *&divisi::emulator::ownCapture() {
  thread_local Capture *own = nullptr;
  return own;
}

CUresult divisi::emulator::refuseInCapture() {
  if (!ownCapture()) {
    return CUDA_SUCCESS;
  }
  ownCapture()->isBroken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  gpus().destroy(&streamOf(stream));
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  Lock lock(gpus().mutex);
  Stream &own = streamOf(stream);
  uint64_t of = eventOf(event)->capture;
  if (gpus().dropsWait()) {
    if (of == 0 && !own.capture) {
      gpus().leaveOut(own, eventOf(event));
    }
    return result();
  }
  if (of == 0 && !own.capture) {
    gpus().wait(own, eventOf(event));
    return result();
  }
  // What is captured has no place among what is done, and the other way round.
  Capture *capturing = ownCapture();
  bool isOwn = capturing && capturing->number == of &&
               (!own.capture || own.capture == capturing);
  if (!isOwn) {
    if (Capture *broken = own.capture ? own.capture : capturing) {
      broken->isBroken = true;
    }
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  capturing->wait(own, *eventOf(event));
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
  if (eventOf(event)->capture) {
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  bool isReached = gpus().query(*eventOf(event));
  CUresult wrong = result();
  return wrong ? wrong : isReached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL || ownCapture() ||
      streamOf(stream).capture) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ownCapture() = new Capture(streamOf(stream));
  return CUDA_SUCCESS;
}

/// Why what `capture` has is no graph.
static CUresult errorOf(const Capture &capture) {
  return capture.isBroken     ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
         : capture.isJoined() ? CUDA_SUCCESS
                              : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Lock lock(gpus().mutex);
  Capture *capture = streamOf(stream).capture;
  if (!capture || !capture->isOrigin(streamOf(stream))) {
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture != ownCapture()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult wrong = errorOf(*capture);
  Graph made = capture->finish();
  *graph =
      wrong ? nullptr : reinterpret_cast<CUgraph>(new Graph(std::move(made)));
  delete std::exchange(ownCapture(), nullptr);
  return wrong ? wrong : result();
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph,
                            unsigned long long flags) {
  Lock lock(gpus().mutex);
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *exec = reinterpret_cast<CUgraphExec>(
      new GraphExec(*reinterpret_cast<Graph *>(graph)));
  return result();
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = refuseInCapture()) {
    return wrong;
  }
  reinterpret_cast<GraphExec *>(exec)->launch(streamOf(stream));
  return result();
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  Lock lock(gpus().mutex);
  delete reinterpret_cast<GraphExec *>(exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
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
  Gpus::End end = gpus().nextLaunch();
  if (end == Gpus::End::IsLost) {
    gpus().breakDown(currentDevice(), CUDA_ERROR_UNKNOWN);
    return result();
  }
  if (end == Gpus::End::Hangs) {
    gpus().block(streamOf(stream));
  }
  std::vector<uint64_t> values(kernel.parameters); // as they are now
  for (size_t p = 0; p < values.size(); ++p) {
    std::memcpy(&values[p], parameters[p], sizeof(uint64_t));
  }
  auto run = [kernel, shape, values = std::move(values), seed = gpus().draw(),
              end, device = currentDevice()](
                 Touched &touched) -> std::optional<std::string> {
    if (end == Gpus::End::Fails) {
      gpus().breakDown(device, CUDA_ERROR_ILLEGAL_ADDRESS);
      return std::nullopt;
    }
    std::vector<uint64_t> launch = {uint64_t(kernel.function), shape.gridX,
                                    shape.gridY, shape.blockX, shape.blockY};
    launch.insert(launch.end(), values.begin(), values.end());
    if (const Touched *known = gpus().knownOf(launch)) {
      touched = *known;
      return std::nullopt;
    }
    static GridExecutor executor(
        [](uint64_t at) { return gpus().rangeOf(at); });
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
