//===- DnnPlan.cpp - What cuDNN has planned -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/DnnPlan.h"

#include <algorithm>
#include <array>

using namespace divisi;
using namespace divisi::rt::cuda;

DnnDescriptors::~DnnDescriptors() {
  // Others point to those that were made first.
  for (size_t i = all_.size(); i-- > 0;) {
    library_->destroyDescriptor(all_[i]);
  }
}

cudnnBackendDescriptor_t
DnnDescriptors::make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  if (isOk()) {
    result_ = library_->createDescriptor(type, &made);
  }
  if (isOk()) {
    all_.push_back(made);
  }
  return made;
}

int64_t DnnDescriptors::get(cudnnBackendDescriptor_t descriptor,
                            cudnnBackendAttributeName_t attribute,
                            cudnnBackendAttributeType_t type, int64_t most,
                            void *values) {
  int64_t count = 0;
  if (isOk()) {
    result_ = library_->getAttribute(descriptor, attribute, type, most, &count,
                                     values);
  }
  return isOk() ? count : 0;
}

void DnnDescriptors::finalize(cudnnBackendDescriptor_t descriptor) {
  if (isOk()) {
    result_ = library_->finalize(descriptor);
  }
}

bool EngineNotes::has(cudnnBackendNumericalNote_t note) const {
  return std::ranges::count(notes_, note) != 0;
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

/// What the library would do `graph` with, in its order. They are `own`'s.
static std::vector<cudnnBackendDescriptor_t>
findEngines(DnnDescriptors &own, cudnnBackendDescriptor_t graph,
            cudnnBackendHeurMode_t mode) {
  cudnnBackendDescriptor_t heuristic =
      own.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  own.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
          CUDNN_TYPE_BACKEND_DESCRIPTOR, graph);
  own.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  own.finalize(heuristic);
  int64_t count = own.get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> found;
  for (int64_t i = 0; i < count; ++i) {
    found.push_back(own.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  }
  count = own.get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, count, found.data());
  found.resize(static_cast<size_t>(count));
  return found;
}

static EngineNotes notesOf(DnnDescriptors &own,
                           cudnnBackendDescriptor_t config) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT>
      notes = {};
  cudnnBackendDescriptor_t engine = own.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  own.get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
          &engine);
  int64_t count =
      own.get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
              CUDNN_TYPE_NUMERICAL_NOTE, int64_t(notes.size()), notes.data());
  // A library that is newer than the header may have more of them.
  count = std::min(count, int64_t(notes.size()));
  return EngineNotes({notes.begin(), notes.begin() + count});
}

namespace {

/// What the library says where it has no plan.
class Refusals {
public:
  /// Takes the first result that is another one than that something is not
  /// supported.
  void note(cudnnStatus_t result) {
    bool isSaid = CUDNN_STATUS_CATEGORY(result) == CUDNN_STATUS_NOT_SUPPORTED;
    if (failure_ == CUDNN_STATUS_SUCCESS && !isSaid) {
      failure_ = result;
    }
  }
  /// No plan, or that failure.
  Expected<std::unique_ptr<DnnPlan>> result(const DnnHandle &dnn) const {
    Status status = dnn.check(failure_, "plan a convolution");
    return status.isOk() ? Expected(std::unique_ptr<DnnPlan>()) : status;
  }

private:
  cudnnStatus_t failure_ = CUDNN_STATUS_SUCCESS;
};

} // namespace

Expected<std::unique_ptr<DnnPlan>>
DnnPlan::make(const DnnHandle &dnn, DnnDescriptors graph,
              std::span<const cudnnBackendDescriptor_t> operations,
              const std::function<bool(const EngineNotes &notes)> &mayUse,
              int64_t mostWorkspace) {
  cudnnHandle_t handle = dnn.handle();
  cudnnBackendDescriptor_t whole =
      graph.make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set(whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            operations);
  graph.finalize(whole);
  Refusals refusals;
  if (!graph.isOk()) {
    refusals.note(graph.result());
    return refusals.result(dnn);
  }
  for (cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    DnnDescriptors candidates(dnn.library());
    for (cudnnBackendDescriptor_t config :
         findEngines(candidates, whole, mode)) {
      DnnDescriptors asked(dnn.library());
      bool isAllowed = mayUse(notesOf(asked, config));
      refusals.note(asked.result());
      if (!isAllowed || !asked.isOk()) {
        continue;
      }
      DnnDescriptors own(dnn.library());
      cudnnBackendDescriptor_t plan =
          own.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      own.set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
              handle);
      own.set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
              CUDNN_TYPE_BACKEND_DESCRIPTOR, config);
      own.finalize(plan);
      int64_t bytes = 0;
      own.get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
              1, &bytes);
      if (own.isOk() && bytes <= mostWorkspace) {
        return std::unique_ptr<DnnPlan>(new DnnPlan(
            std::move(graph), std::move(candidates), std::move(own), plan));
      }
      refusals.note(own.result());
    }
    refusals.note(candidates.result());
  }
  return refusals.result(dnn);
}

Status DnnPlan::run(const DnnHandle &dnn, std::span<const int64_t> numbers,
                    std::span<void *const> pointers, void *workspace,
                    cudaStream_t stream) const {
  DnnDescriptors own(dnn.library());
  cudnnBackendDescriptor_t pack =
      own.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  own.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers);
  own.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
          pointers);
  own.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
          workspace);
  own.finalize(pack);
  cudnnStatus_t result = own.result();
  if (result == CUDNN_STATUS_SUCCESS) {
    result = dnn.library().setStream(dnn.handle(), stream);
  }
  if (result == CUDNN_STATUS_SUCCESS) {
    result = dnn.library().execute(dnn.handle(), plan_, pack);
  }
  return dnn.check(result, "do a convolution");
}
