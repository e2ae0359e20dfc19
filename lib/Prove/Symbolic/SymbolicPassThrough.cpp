//===- SymbolicPassThrough.cpp - Pass-through dims of calls ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Symbolic/SymbolicPassThrough.h"

#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/SampleTensors.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

/// The tensor with the elements along some dim in opposite order.
static Expected<rt::HostTensor> turnAround(const rt::HostTensor &tensor,
                                           size_t dim) {
  Expected<rt::HostTensor> result = tensor.clone();
  if (!result || tensor.count() == 0) {
    return result;
  }
  int64_t inner = tensor.byteSize() / tensor.count();
  for (size_t i = dim + 1; i != tensor.dims().size(); ++i) {
    inner *= tensor.dims()[i];
  }
  int64_t extent = tensor.dims()[dim], rows = tensor.byteSize() / inner;
  for (int64_t row = 0; row != rows; ++row) {
    int64_t at = row % extent, other = row - at + extent - 1 - at;
    std::memcpy(result->data() + row * inner, tensor.data() + other * inner,
                size_t(inner));
  }
  return result;
}

/// Whether an operator computes the same along a dim of its result wherever
/// elements lie there: tried on random operands, of which all that have the dim
/// are turned around. False as well where it can't be tried.
static bool isSameAtAllPlaces(const Call &call,
                              const PassThroughDims &passThrough,
                              const std::vector<TensorForm> &operands,
                              size_t dim) {
  std::mt19937_64 random(dim + 1);
  std::vector<rt::HostTensor> drawn, turned;
  for (size_t i = 0; i != operands.size(); ++i) {
    auto tensor = drawTensor(operands[i], Distribution::Normal, random);
    if (!tensor) {
      return false;
    }
    drawn.push_back(*tensor);
    for (size_t at = 0; at != passThrough[i].size(); ++at) {
      if (passThrough[i][at] == dim) {
        tensor = turnAround(*tensor, at);
      }
      if (!tensor) {
        return false;
      }
    }
    turned.push_back(std::move(*tensor));
  }
  auto result = evaluateOp(call.op, call.attributes, drawn, call.result.type,
                           call.result.dims);
  auto other = evaluateOp(call.op, call.attributes, turned, call.result.type,
                          call.result.dims);
  if (!result || !other) {
    return false;
  }
  auto back = turnAround(*other, dim);
  return back && !compare(*result, *back, Tolerance::Rounding);
}

/// Whether the operator computes the same along this dim at all its places, at
/// some samples in which it has several.
static bool isSameAtAllSamples(const std::vector<Instance> &samples,
                               bool isSource, size_t number, size_t dim) {
  constexpr size_t enough = 3;
  size_t tried = 0;
  for (const Instance &sample : samples) {
    const CallGraph &calls = isSource ? sample.source : sample.target;
    const Call &call = calls.calls[number];
    bool hasDim = std::any_of(call.passThrough.begin(), call.passThrough.end(),
                              [&](const auto &dims) {
                                return std::find(dims.begin(), dims.end(),
                                                 dim) != dims.end();
                              });
    if (!hasDim) {
      return false;
    }
    if (call.result.dims[dim] < 2 || tried == enough) {
      continue;
    }
    std::vector<TensorForm> operands;
    for (size_t operand : call.operands) {
      operands.push_back(sample.form(calls, operand));
    }
    if (!isSameAtAllPlaces(call, call.passThrough, operands, dim)) {
      return false;
    }
    ++tried;
  }
  return tried != 0;
}

void divisi::rewrite::addPassThrough(const std::vector<Instance> &samples,
                                     bool isSource, size_t number, bool tries,
                                     SymbolicCall &made) {
  auto callAt = [&](const Instance &sample) -> const Call & {
    return (isSource ? sample.source : sample.target).calls[number];
  };
  made.passThrough = callAt(samples.front()).passThrough;
  made.isElementwise = true;
  std::set<size_t> stopped;
  for (const Instance &sample : samples) {
    const Call &call = callAt(sample);
    made.isElementwise &= call.isElementwise;
    for (size_t i = 0; i != call.passThrough.size(); ++i) {
      for (size_t dim = 0; dim != call.passThrough[i].size(); ++dim) {
        auto here = call.passThrough[i][dim], there = made.passThrough[i][dim];
        if (here != there) {
          stopped.insert(here.value_or(*there));
          stopped.insert(there.value_or(*here));
        }
      }
    }
  }
  if (made.isElementwise || !tries || made.op.empty()) {
    return;
  }
  for (size_t dim = 0; dim != made.dims.size(); ++dim) {
    if (!stopped.contains(dim) &&
        isSameAtAllSamples(samples, isSource, number, dim)) {
      continue;
    }
    for (auto &operand : made.passThrough) {
      std::replace(operand.begin(), operand.end(), std::optional(dim),
                   std::optional<size_t>());
    }
  }
}
