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

#include <cctype>
#include <cstring>
#include <memory>
#include <utility>

using namespace divisi::emulator;
using divisi::EmulatedFunction;

namespace {

struct Kernel {
  std::string name;
  EmulatedFunction function;
  uint64_t parameters;
};

struct Library;

/// What a CUkernel is, and a CUfunction: the kernel in one context.
struct Launchable {
  Library *library;
  int device; ///< Of the context; -1: of none.
};

struct Library {
  KernelObject object;
  Kernel kernel;
  Launchable ofNone = {this, -1};
  /// By device, in whose context it has been loaded.
  std::map<int, Launchable> loaded = {};

  explicit Library(const void *code) : object(code) {}
};

} // namespace

static std::shared_ptr<Event> &eventOf(CUevent event) {
  return *reinterpret_cast<std::shared_ptr<Event> *>(event);
}

LibraryCounts &divisi::emulator::libraries() {
  static LibraryCounts all;
  return all;
}

void emulatedLibraries(uint64_t *loaded, uint64_t *modules,
                       uint64_t *unloaded) {
  Lock lock(gpus().mutex);
  *loaded = libraries().loaded;
  *modules = libraries().modules;
  *unloaded = libraries().unloaded;
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
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  auto made = std::make_shared<Event>();
  made->device = currentDevice();
  *event =
      reinterpret_cast<CUevent>(new std::shared_ptr<Event>(std::move(made)));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete &eventOf(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  Lock lock(gpus().mutex);
  // CUDA Programming Guide, multi-device systems, "Stream and Event Behavior":
  // it fails where they are of different devices; a wait does not.
  if (eventOf(event)->device != streamOf(stream).device) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
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

/// PTX is text that ends with NUL; this processor cannot run it.
static bool isText(const void *code) {
  const char *begin = static_cast<const char *>(code);
  return std::isprint(static_cast<unsigned char>(*begin)) &&
         std::string_view(begin).find(".version") != std::string_view::npos;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *,
                           void **, unsigned, CUlibraryOption *, void **,
                           unsigned) {
  auto made = std::make_unique<Library>(code);
  if (!made->object.function()) {
    return !made->object.isOne() && isText(code) ? CUDA_ERROR_NO_BINARY_FOR_GPU
                                                 : CUDA_ERROR_INVALID_IMAGE;
  }
  Lock lock(gpus().mutex);
  ++libraries().loaded;
  *library = reinterpret_cast<CUlibrary>(made.release());
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library) {
  Lock lock(gpus().mutex);
  auto *known = reinterpret_cast<Library *>(library);
  for (const auto &[device, function] : known->loaded) {
    gpus().synchronize(device, "cuLibraryUnload");
    gpus().charge(device, Charge::Modules, -int64_t(known->object.bytes()));
  }
  gpus().finishAll(); // whatever still runs it
  ++libraries().unloaded;
  delete known;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                            const char *name) {
  auto &all = *reinterpret_cast<Library *>(library);
  all.kernel = {name, all.object.function(), all.object.parameters()};
  *kernel = reinterpret_cast<CUkernel>(&all.ofNone);
  return CUDA_SUCCESS;
}

/// Lets the kernel be in the context of the device. What has not been asked for
/// there is loaded now, which waits for what runs (CUDA Driver API,
/// cuLibraryLoadData: loaded "when a function is needed for that context";
/// CUDA Programming Guide, "Lazy Loading").
static CUresult load(Library &library, int device, const char *call) {
  if (library.loaded.contains(device)) {
    return CUDA_SUCCESS;
  }
  gpus().synchronize(device, call);
  if (!gpus().charge(device, Charge::Modules,
                     int64_t(library.object.bytes()))) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++libraries().modules;
  library.loaded[device] = {&library, device};
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  Lock lock(gpus().mutex);
  if (CUresult wrong = needContext()) {
    return wrong;
  }
  Library &library = *reinterpret_cast<Launchable *>(kernel)->library;
  CUresult loaded = load(library, currentDevice(), "cuKernelGetFunction");
  *function =
      loaded
          ? nullptr
          : reinterpret_cast<CUfunction>(&library.loaded.at(currentDevice()));
  return loaded;
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
  const Launchable what = *reinterpret_cast<Launchable *>(function);
  // CUDA Programming Guide, multi-device systems, "Stream and Event Behavior":
  // a launch fails in a stream of another device than the current one.
  if (streamOf(stream).device != currentDevice() ||
      (what.device >= 0 && what.device != currentDevice())) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (CUresult wrong =
          load(*what.library, currentDevice(), "a kernel's first launch")) {
    return wrong;
  }
  const Kernel kernel = what.library->kernel;
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
    std::vector<uint64_t> launch = {uint64_t(kernel.function),
                                    uint64_t(device),
                                    shape.gridX,
                                    shape.gridY,
                                    shape.blockX,
                                    shape.blockY};
    launch.insert(launch.end(), values.begin(), values.end());
    if (const Touched *known = gpus().knownOf(launch)) {
      touched = *known;
      return std::nullopt;
    }
    static int own = device; // of the present launch
    static GridExecutor executor([](uint64_t at) {
      return gpus().reaches(own, at) ? gpus().rangeOf(at) : MemoryRange();
    });
    own = device;
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
