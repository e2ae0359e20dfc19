//===- Shapes.cpp - Shapes of results -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>
#include <set>

using namespace divisi::rewrite;

/// How many places there are in `length`, the first at 0, by a positive step.
static Polynomial placesIn(const Polynomial &length, const Polynomial &step) {
  return quotientOf(length - Polynomial(1), step) + Polynomial(1);
}

/// How many windows there are.
static Polynomial windowsIn(const Polynomial &extent, const Polynomial &kernel,
                            const Polynomial &stride,
                            const Polynomial &dilation) {
  return placesIn(extent - (kernel - Polynomial(1)) * dilation, stride);
}

/// Extents that are not 1 are the same along each dim, wherever it is legal.
Index SymbolicEvaluator::elementwiseShape(const SymbolicCall &call) {
  Index result(call.dims.size(), Polynomial(1));
  for (size_t operand : call.operands) {
    Index own = shape(operand);
    for (size_t i = 0; i != own.size(); ++i) {
      Polynomial &extent = result[i + result.size() - own.size()];
      if (extent.number() == 1) {
        extent = own[i];
      } else if (own[i].number() != 1 && !(own[i] == extent)) {
        for (const Polynomial &each : {extent, own[i]}) {
          if (!facts_.isAtLeastZero(each - Polynomial(2))) {
            throw SplitExtent{each};
          }
        }
      }
    }
  }
  return result;
}

/// How many elements a slice takes along a dim: at least one, by a step that is
/// not 0.
Polynomial SymbolicEvaluator::sliceExtent(const Polynomial &start,
                                          const Polynomial &limit,
                                          const Polynomial &step) {
  if (facts_.isAtLeastZero(step - Polynomial(1))) {
    return placesIn(limit - start, step);
  }
  if (facts_.isAtLeastZero(Polynomial(-1) - step)) {
    return placesIn(start - limit, Polynomial(0) - step);
  }
  throw SplitAt{step - Polynomial(1)};
}

/// Of a convolution, or a pool.
Index SymbolicEvaluator::windowShape(const SymbolicCall &call) {
  bool isConv = call.op == "conv";
  Index x = shape(call.operands[0]), result;
  Index w = isConv ? shape(call.operands[1]) : list(call, "kernel");
  Index strides = list(call, "strides"), dilations = list(call, "dilations");
  Index lo = list(call, "pads_lo"), hi = list(call, "pads_hi");
  if (isConv) {
    result = {x[0], w[0]};
  }
  size_t first = result.size();
  for (size_t i = 0; i != strides.size(); ++i) {
    result.push_back(windowsIn(x[first + i] + lo[i] + hi[i], w[first + i],
                               strides[i], dilations[i]));
  }
  return result;
}

/// The dims of the indices in place of an axis.
Index SymbolicEvaluator::gatherShape(const SymbolicCall &call) {
  size_t axis = size_t(number(call, "axis"));
  auto batch = ptrdiff_t(number(call, "batch_dims"));
  Index result = shape(call.operands[0]);
  Index rows = shape(call.operands[1]);
  auto at = result.erase(result.begin() + ptrdiff_t(axis));
  result.insert(at, rows.begin() + batch, rows.end());
  return result;
}

/// Of operators that keep the dims of an operand, or replace one of them.
std::optional<Index> SymbolicEvaluator::shapeOfRows(const SymbolicCall &call) {
  const std::string &op = call.op;
  static const std::set<std::string> keep = {
      "softmax", "normalize", "cumulate",   "rotary", "quantize",
      "insert",  "scatter",   "dequantize", "cast"};
  if (keep.contains(op)) {
    return shape(call.operands[0]);
  }
  if (op == "take_along") {
    return shape(call.operands[1]);
  }
  if (op == "gather") {
    return gatherShape(call);
  }
  if (op == "conv_dgrad") {
    Index result{shape(call.operands[0])[0]};
    result.push_back(shape(call.operands[1])[1] *
                     integer(std::get<Expr>(attribute(call, "groups"))));
    Index extents = list(call, "extents");
    result.insert(result.end(), extents.begin(), extents.end());
    return result;
  }
  if (op == "top_k" || op == "arg_reduce") {
    Index result = shape(call.operands[0]);
    size_t axis = size_t(number(call, "axis"));
    if (op == "top_k") {
      result[axis] = integer(std::get<Expr>(attribute(call, "k")));
    } else {
      result.erase(result.begin() + ptrdiff_t(axis));
    }
    return result;
  }
  return std::nullopt;
}

/// What an operator that is defined here says of it; nothing of others.
std::optional<Index> SymbolicEvaluator::definedShape(const SymbolicCall &call) {
  const std::string &op = call.op;
  if (call.isElementwise && !call.operands.empty() && op != "broadcast" &&
      op != "reshape" && op != "transpose") {
    return elementwiseShape(call);
  }
  if (op == "matmul" || op == "attention") {
    return labelledShape(call);
  }
  if (std::optional<Index> rows = shapeOfRows(call)) {
    return rows;
  }
  bool isMovement = op == "transpose" || op == "slice" || op == "pad" ||
                    op == "concat" || op == "reduce" || op == "conv" ||
                    op.starts_with("pool_");
  if (!isMovement) {
    return std::nullopt;
  }
  Index x = shape(call.operands[0]), result;
  if (op == "transpose") {
    for (size_t dim : dimList(call, "permutation")) {
      result.push_back(x[dim]);
    }
    return result;
  }
  if (op == "reduce") {
    std::vector<size_t> axes = dimList(call, "axes");
    for (size_t dim = 0; dim != x.size(); ++dim) {
      if (std::find(axes.begin(), axes.end(), dim) == axes.end()) {
        result.push_back(x[dim]);
      }
    }
    return result;
  }
  if (op == "concat") {
    size_t axis = size_t(number(call, "axis"));
    for (size_t i = 1; i != call.operands.size(); ++i) {
      x[axis] = x[axis] + shape(call.operands[i])[axis];
    }
    return x;
  }
  if (op == "pad") {
    Index lo = list(call, "lo"), hi = list(call, "hi");
    for (size_t dim = 0; dim != x.size(); ++dim) {
      result.push_back(x[dim] + lo[dim] + hi[dim]);
    }
    return result;
  }
  if (op == "slice") {
    Index starts = list(call, "starts"), limits = list(call, "limits");
    Index steps = list(call, "steps");
    for (size_t dim = 0; dim != x.size(); ++dim) {
      result.push_back(sliceExtent(starts[dim], limits[dim], steps[dim]));
    }
    return result;
  }
  return windowShape(call);
}
