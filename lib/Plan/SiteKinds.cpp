//===- SiteKinds.cpp - Operators that are alike ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SiteKinds.h"

#include "divisi/Evaluate/KernelCall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace divisi::plan {

static void append(std::string &key, int64_t number) {
  key += std::to_string(number);
  key += ' ';
}

static void describe(std::string &key, const TensorMap &tensor) {
  for (auto [dim, extent] : llvm::zip_equal(tensor.dims, tensor.shape)) {
    append(key, extent);
    append(key, int64_t(dim.kind));
    for (LoopId loop : dim.loops) {
      append(key, loop.index);
    }
    append(key, dim.stride);
    append(key, dim.lo);
    append(key, dim.reach);
    for (Interval interval : dim.table) {
      append(key, interval.begin);
      append(key, interval.end);
    }
    key += ',';
  }
  key += ';';
}

/// Everything that choices and their costs follow from.
static std::string describe(const Site &site, Operation *op) {
  std::string key;
  for (auto [index, loop] : llvm::enumerate(site.nest.loops)) {
    append(key, loop.extent);
    append(key, int64_t(loop.kind));
    append(key, int64_t(loop.reduce));
    append(key, site.batch[index]);
  }
  key += ';';
  for (const TensorMap &tensor : site.nest.operands) {
    describe(key, tensor);
  }
  key += '>';
  for (const TensorMap &tensor : site.nest.results) {
    describe(key, tensor);
  }
  for (const auto &set : site.nest.linear) {
    for (unsigned operand : set) {
      append(key, operand);
    }
    key += ';';
  }
  for (unsigned set : site.nest.barred) {
    append(key, set);
  }
  key += '|' + std::to_string(site.nest.flopsPerPoint) + '/';
  for (int64_t width : site.profile.operands) {
    append(key, width);
  }
  for (int64_t width : site.profile.results) {
    append(key, width);
  }
  for (bool isParameter : site.parameters) {
    append(key, isParameter);
  }
  append(key, int64_t(site.profile.precision));
  // What its kernel says of views.
  llvm::raw_string_ostream os(key);
  os << op->getName() << kernelConfig(op);
  return key;
}

unsigned SiteKinds::of(const Site &site, Operation *op) {
  return known_.try_emplace(describe(site, op), unsigned(known_.size()))
      .first->second;
}

} // namespace divisi::plan
