//===- DnnApi.cpp - cuDNN, emulated ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libcudnn, and no more. DIVISI_EMULATOR_NO_ENGINE says how
// it has no engine for any convolution alone:
//
//   1     it finds none
//   2     it supports no such graph
//   3     it fails where it looks for one
//
// With DIVISI_EMULATOR_NO_FUSION it finds none for anything else.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnDescriptor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

using namespace divisi;
using namespace divisi::emulator;

using Lock = std::lock_guard<std::mutex>;

namespace {

/// What a handle is.
struct Handle {
  int device;
  Stream *stream = nullptr;
};

} // namespace

static Handle &handleOf(cudnnHandle_t handle) {
  return *reinterpret_cast<Handle *>(handle);
}

static cudnnStatus_t refuse(const std::string &what) {
  std::fprintf(stderr, "emulator: cuDNN refuses %s\n", what.c_str());
  return CUDNN_STATUS_BAD_PARAM;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS          ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED  ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == CUDNN_STATUS_INTERNAL_ERROR ? "CUDNN_STATUS_INTERNAL_ERROR"
         : status == CUDNN_STATUS_EXECUTION_FAILED
             ? "CUDNN_STATUS_EXECUTION_FAILED"
             : "CUDNN_STATUS_BAD_PARAM";
}

/// DIVISI_EMULATOR_CUDNN is another one.
size_t cudnnGetVersion() {
  const char *version = std::getenv("DIVISI_EMULATOR_CUDNN");
  return version ? std::strtoul(version, nullptr, 10) : CUDNN_VERSION;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  Lock lock(gpus().mutex);
  if (currentDevice() < 0) {
    return CUDNN_STATUS_NOT_INITIALIZED;
  }
  gpus().synchronize(currentDevice(), "cudnnCreate");
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle{currentDevice()});
  return CUDNN_STATUS_SUCCESS;
}

/// cuDNN API, cudnnDestroy: it "will implicitly call cudaDeviceSynchronize".
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  Lock lock(gpus().mutex);
  gpus().synchronize(handleOf(handle).device, "cudnnDestroy");
  delete &handleOf(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  Lock lock(gpus().mutex);
  auto *made = reinterpret_cast<Stream *>(stream);
  if (made->device != handleOf(handle).device) {
    return refuse("a stream of another device");
  }
  handleOf(handle).stream = made;
  return CUDNN_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  Lock lock(gpus().mutex);
  auto made = std::make_unique<DnnDescriptor>(type);
  *descriptor = made.get();
  descriptors()[*descriptor] = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  Lock lock(gpus().mutex);
  return descriptors().erase(descriptor) != 0
             ? CUDNN_STATUS_SUCCESS
             : refuse("to destroy what is no descriptor");
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  Lock lock(gpus().mutex);
  DnnDescriptor *made = findDescriptor(descriptor);
  auto wrong = made ? made->set(name, type, count, values)
                    : std::optional<std::string>("an attribute of nothing");
  return wrong ? refuse(*wrong) : CUDNN_STATUS_SUCCESS;
}

/// See the file's head; 0: it has some.
static int lackOfEngines(const DnnProblem &problem) {
  const char *lack = std::getenv("DIVISI_EMULATOR_NO_ENGINE");
  return lack && problem.operations.size() == 1 ? std::atoi(lack) : 0;
}

static bool lacksFusion(const DnnProblem &problem) {
  return problem.operations.size() > 1 &&
         std::getenv("DIVISI_EMULATOR_NO_FUSION");
}

static cudnnStatus_t finalizeHeuristic(DnnDescriptor &heuristic) {
  heuristic.problem = findDescriptor(heuristic.one<cudnnBackendDescriptor_t>(
                                         CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH))
                          ->problem;
  int lack = lackOfEngines(*heuristic.problem);
  return lack == 2   ? CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN
         : lack == 3 ? CUDNN_STATUS_INTERNAL_ERROR
                     : CUDNN_STATUS_SUCCESS;
}

/// A plan is of an engine that takes the graph.
static cudnnStatus_t finalizePlan(DnnDescriptor &plan) {
  const DnnDescriptor *config =
      findDescriptor(plan.one<cudnnBackendDescriptor_t>(
          CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  if (!config) {
    return refuse("an engine that is destroyed");
  }
  gpus().synchronize(
      handleOf(plan.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
          .device,
      "a plan of cuDNN's, which may load or compile kernels,");
  plan.problem = config->problem;
  plan.engine = config->engine;
  return plan.engine->takes(*plan.problem) ? CUDNN_STATUS_SUCCESS
                                           : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Lock lock(gpus().mutex);
  DnnDescriptor *made = findDescriptor(descriptor);
  auto wrong = made ? made->finalize()
                    : std::optional<std::string>("to finalize nothing");
  if (wrong) {
    return refuse(*wrong);
  }
  if (made->type() == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    return finalizeHeuristic(*made);
  }
  return made->type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
             ? finalizePlan(*made)
             : CUDNN_STATUS_SUCCESS;
}

/// Fills descriptors of the caller's with what the library knows.
static cudnnStatus_t
fillDescriptors(std::span<const DnnEngine *const> engines,
                const std::shared_ptr<const DnnProblem> &problem,
                cudnnBackendDescriptorType_t type,
                cudnnBackendDescriptor_t *to) {
  for (size_t i = 0; i < engines.size(); ++i) {
    DnnDescriptor *made = findDescriptor(to[i]);
    if (!made || made->type() != type || made->isFinal()) {
      return refuse("to fill what is no descriptor of that type");
    }
    made->engine = engines[i];
    made->problem = problem;
    made->fill();
  }
  return CUDNN_STATUS_SUCCESS;
}

/// As many of `values` as are wanted.
template <typename T>
static cudnnStatus_t give(std::span<const T> values, int64_t wanted, void *to) {
  size_t count = std::min(values.size(), size_t(wanted));
  std::copy_n(values.begin(), count, static_cast<T *>(to));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t wanted, int64_t *count,
                                       void *values) {
  Lock lock(gpus().mutex);
  DnnDescriptor *made = findDescriptor(descriptor);
  if (!made || !made->isFinal() || wanted < 0 || (wanted > 0 && !values)) {
    return refuse("to tell of a descriptor that is not finalized");
  }
  auto *to = static_cast<cudnnBackendDescriptor_t *>(values);
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
      made->type() == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::vector<const DnnEngine *> engines;
    for (const DnnEngine &engine : enginesOf(
             made->one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE))) {
      engines.push_back(&engine);
    }
    if (lackOfEngines(*made->problem) == 1 || lacksFusion(*made->problem)) {
      engines.clear();
    }
    *count = int64_t(engines.size());
    engines.resize(std::min(engines.size(), size_t(wanted)));
    return fillDescriptors(engines, made->problem,
                           CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, to);
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE &&
      made->type() == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR && wanted == 1) {
    *count = 1;
    return fillDescriptors(std::span(&made->engine, 1), made->problem,
                           CUDNN_BACKEND_ENGINE_DESCRIPTOR, to);
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
      made->type() == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
      type == CUDNN_TYPE_NUMERICAL_NOTE) {
    std::span notes(made->engine->notes);
    *count = int64_t(notes.size());
    return give(notes, wanted, values);
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
      made->type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      type == CUDNN_TYPE_INT64) {
    *count = 1;
    return give(std::span(&made->engine->workspaceBytes, 1), wanted, values);
  }
  return refuse("to tell what the emulator does not know");
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Where the tensors of a plan are; what is wrong with that.
static std::optional<std::string>
readPack(const DnnDescriptor &pack, const DnnDescriptor &plan,
         std::map<int64_t, uint64_t> &addresses, uint64_t &workspace) {
  auto numbers = pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers = pack.all<uint64_t>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto own = pack.all<uint64_t>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  workspace = own.empty() ? 0 : own[0];
  for (size_t i = 0; i < std::min(numbers.size(), pointers.size()); ++i) {
    addresses[numbers[i]] = pointers[i];
  }
  std::vector<int64_t> expected = plan.problem->inMemory();
  if (numbers.size() != pointers.size() || addresses.size() != numbers.size() ||
      numbers.size() != expected.size()) {
    return "a pack with other tensors than the graph's";
  }
  for (int64_t number : expected) {
    auto found = addresses.find(number);
    if (found == addresses.end()) {
      return "a pack without a tensor of the graph";
    }
    if (found->second % uint64_t(plan.problem->tensors.at(number).alignment) !=
        0) {
      return "a tensor that is not aligned as it was said to be";
    }
  }
  if (plan.engine->workspaceBytes > 0 &&
      (workspace == 0 || workspace % 256 != 0)) {
    return "a workspace that is not aligned to 256";
  }
  return std::nullopt;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t planned,
                                  cudnnBackendDescriptor_t packed) {
  Lock lock(gpus().mutex);
  if (gpus().fault()) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  const DnnDescriptor *plan = findDescriptor(planned);
  const DnnDescriptor *pack = findDescriptor(packed);
  Handle &on = handleOf(handle);
  if (!plan || !pack || !plan->isFinal() || !pack->isFinal() ||
      plan->type() != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack->type() != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR ||
      !plan->engine->takes(*plan->problem)) {
    return refuse("to execute what is not finalized");
  }
  if (plan->one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != handle ||
      !on.stream || currentDevice() != on.device) {
    return refuse("a plan of another handle, or no stream");
  }
  std::map<int64_t, uint64_t> addresses;
  uint64_t workspace = 0;
  if (auto wrong = readPack(*pack, *plan, addresses, workspace)) {
    return refuse(*wrong);
  }
  // Its kernels come with the first call (CUDA Programming Guide, "Lazy
  // Loading").
  static std::set<std::pair<int, std::vector<uint64_t>>> loaded;
  if (loaded.insert({on.device, plan->problem->key()}).second) {
    gpus().synchronize(on.device, "a convolution's first launch");
  }
  std::vector<uint64_t> launch = plan->problem->key();
  launch.insert(launch.end(), {uint64_t(plan->engine->index), workspace});
  for (const auto &[number, address] : addresses) {
    launch.push_back(address);
  }
  auto run = [problem = plan->problem, engine = plan->engine, addresses,
              workspace, launch](Touched &touched) {
    if (const Touched *known = gpus().knownOf(launch)) {
      touched = *known;
      return std::optional<std::string>();
    }
    auto wrong = spoil(workspace, uint64_t(engine->workspaceBytes), touched);
    if (!wrong) {
      wrong = problem->run(addresses, engine->arithmetic, gpus(), touched);
    }
    gpus().keep(launch, touched);
    return wrong;
  };
  ++engineUses()[plan->engine->index];
  gpus().put(*on.stream, {"a convolution", run});
  return CUDNN_STATUS_SUCCESS;
}
