//===- DnnProblem.cpp - What cuDNN is asked for ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnProblem.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace divisi;
using namespace divisi::emulator;

using Dims = std::vector<int64_t>;

int64_t DnnTensor::count() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1),
                         std::multiplies<>());
}

uint64_t DnnTensor::span() const {
  int64_t last = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    last += (dims[d] - 1) * strides[d];
  }
  return uint64_t((last + 1) * widthOf(type));
}

/// The dimensions of more than one index, the innermost one first.
static std::vector<size_t> orderOf(const DnnTensor &tensor) {
  std::vector<size_t> order;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] != 1) {
      order.push_back(d);
    }
  }
  std::ranges::stable_sort(order, {},
                           [&](size_t d) { return tensor.strides[d]; });
  return order;
}

bool DnnTensor::isDense() const {
  int64_t next = 1;
  for (size_t d : orderOf(*this)) {
    if (strides[d] != next) {
      return false;
    }
    next *= dims[d];
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// Whether no two elements share a place.
static bool isInjective(const DnnTensor &tensor) {
  int64_t next = 1;
  for (size_t d : orderOf(tensor)) {
    if (tensor.strides[d] < next) {
      return false;
    }
    next = tensor.strides[d] * tensor.dims[d];
  }
  return true;
}

std::vector<int64_t> DnnProblem::inMemory() const {
  std::vector<int64_t> numbers;
  for (const auto &[number, tensor] : tensors) {
    if (!tensor.isVirtual) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<uint64_t> DnnProblem::key() const {
  std::vector<uint64_t> key;
  auto add = [&](const auto &numbers) {
    key.insert(key.end(), numbers.begin(), numbers.end());
  };
  for (const auto &[number, tensor] : tensors) {
    add(Dims{number, int64_t(tensor.type), tensor.isVirtual});
    add(tensor.dims);
    add(tensor.strides);
  }
  for (const DnnOperation &operation : operations) {
    add(Dims{int64_t(operation.kind), operation.left, operation.right,
             operation.result, int64_t(operation.mode)});
    for (const Dims *dims : {&operation.strides, &operation.dilations,
                             &operation.before, &operation.after}) {
      add(*dims);
    }
  }
  return key;
}

int64_t DnnProblem::groups() const {
  const DnnOperation &first = operations.front();
  bool isForward = first.kind == DnnOperation::Kind::Forward;
  const DnnTensor &data = tensors.at(isForward ? first.left : first.result);
  return data.dims[1] / tensors.at(first.right).dims[1];
}

std::optional<std::string>
DnnProblem::refusal(const DnnOperation &window) const {
  bool isForward = window.kind == DnnOperation::Kind::Forward;
  const DnnTensor &left = tensors.at(window.left),
                  &filter = tensors.at(window.right),
                  &result = tensors.at(window.result);
  const DnnTensor &data = isForward ? left : result,
                  &image = isForward ? result : left;
  size_t rank = filter.dims.size();
  if (left.isVirtual || filter.isVirtual) {
    return "a convolution of what is not in memory";
  }
  if (left.type != filter.type ||
      (!result.isVirtual && result.type != left.type) ||
      (result.isVirtual && result.type != rt::DType::F32)) {
    return "a convolution of types that do not fit together";
  }
  if (rank < 4 || rank > 5 || data.dims.size() != rank ||
      image.dims.size() != rank || window.strides.size() != rank - 2) {
    return "a convolution of other than two or three spatial dimensions";
  }
  if (data.dims[1] % filter.dims[1] != 0 ||
      filter.dims[0] % (data.dims[1] / filter.dims[1]) != 0 ||
      image.dims[1] != filter.dims[0] || image.dims[0] != data.dims[0]) {
    return "channels, features or images that do not fit together";
  }
  for (size_t i = 0; i + 2 < rank; ++i) {
    int64_t padded = data.dims[i + 2] + window.before[i] + window.after[i];
    int64_t reach = (filter.dims[i + 2] - 1) * window.dilations[i] + 1;
    if (padded < reach ||
        image.dims[i + 2] != (padded - reach) / window.strides[i] + 1) {
      return "a window that does not make so many indices";
    }
  }
  return std::nullopt;
}

static bool isBinary(cudnnPointwiseMode_t mode) {
  return mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_DIV ||
         mode == CUDNN_POINTWISE_MAX || mode == CUDNN_POINTWISE_MIN ||
         mode == CUDNN_POINTWISE_MUL || mode == CUDNN_POINTWISE_SUB;
}

std::optional<std::string>
DnnProblem::pointwiseRefusal(const DnnOperation &step) const {
  const DnnTensor &result = tensors.at(step.result);
  if (isBinary(step.mode) != (step.right != 0)) {
    return "a pointwise operation with another number of operands";
  }
  for (int64_t number : {step.left, step.right}) {
    if (number == 0) {
      continue;
    }
    const DnnTensor &operand = tensors.at(number);
    for (size_t d = 0; d < result.dims.size(); ++d) {
      if (operand.dims.size() != result.dims.size() ||
          (operand.dims[d] != result.dims[d] && operand.dims[d] != 1)) {
        return "a pointwise operation on tensors that do not fit together";
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> DnnProblem::refusal() const {
  for (const auto &[number, tensor] : tensors) {
    if (!tensor.isVirtual && !isInjective(tensor)) {
      return "a tensor whose elements share places";
    }
  }
  std::set<int64_t> made, read;
  for (size_t i = 0; i < operations.size(); ++i) {
    const DnnOperation &operation = operations[i];
    bool isWindow = operation.kind != DnnOperation::Kind::Pointwise;
    if (isWindow != (i == 0)) {
      return "a graph that does not begin with its only convolution";
    }
    auto wrong = isWindow ? refusal(operation) : pointwiseRefusal(operation);
    if (wrong) {
      return wrong;
    }
    for (int64_t number : {operation.left, operation.right}) {
      if (number != 0 && tensors.at(number).isVirtual && !made.count(number)) {
        return "a virtual tensor that nobody makes before it is read";
      }
      read.insert(number);
    }
    if (read.count(operation.result) || !made.insert(operation.result).second) {
      return "a tensor that is made twice, or of itself";
    }
  }
  for (int64_t number : made) {
    if (tensors.at(number).isVirtual != (read.count(number) != 0)) {
      return "a virtual tensor that nobody reads, or one of memory on the way";
    }
  }
  return std::nullopt;
}
