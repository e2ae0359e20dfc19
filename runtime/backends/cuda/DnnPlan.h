//===- DnnPlan.h - What cuDNN has planned -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN is told of a graph of operations on tensors, which have numbers, says
// which engines could do it, the best one first, and makes a plan of one. All
// of these are descriptors: they are made, given attributes, and finalized.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_DNNPLAN_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_DNNPLAN_H

#include "runtime/backends/cuda/Dnn.h"

#include <functional>
#include <span>
#include <vector>

namespace divisi::rt::cuda {

/// Descriptors that belong together. Nothing is done any more when something
/// was refused.
class DnnDescriptors {
public:
  /// Of `library`, which must outlive it.
  explicit DnnDescriptors(const DnnLibrary &library) : library_(&library) {}
  DnnDescriptors(DnnDescriptors &&other) noexcept
      : library_(other.library_), all_(std::move(other.all_)),
        result_(other.result_) {
    other.all_.clear();
  }
  ~DnnDescriptors();

  /// A new one. It lives as long as this object.
  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type);
  /// Gives it an attribute.
  template <typename T>
  void set(cudnnBackendDescriptor_t descriptor,
           cudnnBackendAttributeName_t attribute,
           cudnnBackendAttributeType_t type, std::span<const T> values) {
    if (isOk()) {
      result_ = library_->setAttribute(descriptor, attribute, type,
                                       int64_t(values.size()), values.data());
    }
  }
  /// The same with one value.
  template <typename T>
  void set(cudnnBackendDescriptor_t descriptor,
           cudnnBackendAttributeName_t attribute,
           cudnnBackendAttributeType_t type, const T &value) {
    set(descriptor, attribute, type, std::span<const T>(&value, 1));
  }
  /// Asks for at most so many values; how many there are.
  int64_t get(cudnnBackendDescriptor_t descriptor,
              cudnnBackendAttributeName_t attribute,
              cudnnBackendAttributeType_t type, int64_t most, void *values);
  /// Ends the setting of attributes of `descriptor`.
  void finalize(cudnnBackendDescriptor_t descriptor);

  /// Whether nothing was refused.
  bool isOk() const { return result_ == CUDNN_STATUS_SUCCESS; }
  /// What the library said of what it refused first; else success.
  cudnnStatus_t result() const { return result_; }

private:
  const DnnLibrary *library_;
  std::vector<cudnnBackendDescriptor_t> all_;
  cudnnStatus_t result_ = CUDNN_STATUS_SUCCESS;
};

/// What an engine says of itself.
class EngineNotes {
public:
  /// Of the notes that cuDNN has of it.
  explicit EngineNotes(std::vector<cudnnBackendNumericalNote_t> notes)
      : notes_(std::move(notes)) {}
  /// Whether it says `note`.
  bool has(cudnnBackendNumericalNote_t note) const;

private:
  std::vector<cudnnBackendNumericalNote_t> notes_;
};

/// A graph as an engine does it.
class DnnPlan {
public:
  /// That of the first engine, in the library's order, that `mayUse` allows
  /// and that does with so many bytes of workspace; null if there is none.
  /// `operations` are of `graph`, which is part of the plan. Device where there
  /// is none since the library failed, rather than that it supports no such
  /// thing.
  static Expected<std::unique_ptr<DnnPlan>>
  make(const DnnHandle &dnn, DnnDescriptors graph,
       std::span<const cudnnBackendDescriptor_t> operations,
       const std::function<bool(const EngineNotes &notes)> &mayUse,
       int64_t mostWorkspace);

  /// Puts it on `stream`: tensor `numbers[i]` of the graph lies at
  /// `pointers[i]`.
  Status run(const DnnHandle &dnn, std::span<const int64_t> numbers,
             std::span<void *const> pointers, void *workspace,
             cudaStream_t stream) const;

private:
  DnnPlan(DnnDescriptors graph, DnnDescriptors engines, DnnDescriptors own,
          cudnnBackendDescriptor_t plan)
      : graph_(std::move(graph)), engines_(std::move(engines)),
        own_(std::move(own)), plan_(plan) {}

  DnnDescriptors graph_, engines_, own_; ///< Each points into those before.
  cudnnBackendDescriptor_t plan_;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_DNNPLAN_H
