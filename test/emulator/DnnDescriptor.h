//===- DnnDescriptor.h - Descriptors of cuDNN -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every descriptor of the backend API is: attributes with types and
// counts, which it takes until it is finalized, and gives only then.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_DNNDESCRIPTOR_H
#define DIVISI_TEST_EMULATOR_DNNDESCRIPTOR_H

#include "test/emulator/DnnEngine.h"

#include <cstring>

namespace divisi::emulator {

/// One descriptor; what a user has is its address.
class DnnDescriptor {
public:
  explicit DnnDescriptor(cudnnBackendDescriptorType_t type) : type_(type) {}

  cudnnBackendDescriptorType_t type() const { return type_; }
  bool isFinal() const { return isFinal_; }

  /// Takes an attribute, or says why it does not: by the table of those that
  /// its type has.
  std::optional<std::string> set(cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t type,
                                 int64_t count, const void *values);
  /// Ends that. What is wrong with all of it.
  std::optional<std::string> finalize();
  /// Ends it without a look: what the library itself has filled.
  void fill() { isFinal_ = true; }

  bool has(cudnnBackendAttributeName_t name) const {
    return attributes_.count(name) != 0;
  }
  /// The values of an attribute; empty without it.
  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    auto found = attributes_.find(name);
    std::vector<T> values;
    if (found != attributes_.end()) {
      values.resize(found->second.size() / sizeof(T));
      std::memcpy(values.data(), found->second.data(), found->second.size());
    }
    return values;
  }
  /// The only one, which is there.
  template <typename T> T one(cudnnBackendAttributeName_t name) const {
    return all<T>(name).at(0);
  }

  /// Of a graph, or of what is made of one.
  std::shared_ptr<const DnnProblem> problem;
  const DnnEngine *engine = nullptr; ///< Of a configuration, engine or plan.

private:
  std::optional<std::string> finalizeTensor() const;
  std::optional<std::string> finalizeWindow() const;
  std::optional<std::string> finalizePointwise() const;
  std::optional<std::string> finalizeGraph();

  cudnnBackendDescriptorType_t type_;
  bool isFinal_ = false;
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes_;
};

/// Bytes of a value of that type; 0: nobody uses it here.
size_t sizeOf(cudnnBackendAttributeType_t type);

/// The one at an address; null if there is none.
DnnDescriptor *findDescriptor(cudnnBackendDescriptor_t address);
/// All that there are.
std::map<cudnnBackendDescriptor_t, std::unique_ptr<DnnDescriptor>> &
descriptors();

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_DNNDESCRIPTOR_H
