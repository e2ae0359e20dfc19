//===- EmitterOps.cpp - The emitter's operators ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "OnnxTypes.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

std::string divisi::formatInts(const Ints &values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    out += (i ? ", " : "") + std::to_string(values[i]);
  }
  return out + "]";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Tensor Emitter::unary(const std::string &op, const Tensor &x) {
  bool isTest = op == "is_nan" || op == "is_inf";
  return emit(op, {x}, {}, isTest ? DType::Bool : x->type, x->dims);
}

std::optional<rt::Dims> Emitter::broadcastDims(const rt::Dims &a,
                                               const rt::Dims &b) {
  rt::Dims result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    size_t back = result.size() - i;
    int64_t m = back <= a.size() ? a[a.size() - back] : 1;
    int64_t n = back <= b.size() ? b[b.size() - back] : 1;
    if (m != n && m != 1 && n != 1) {
      fail(ExitCode::Invalid, "the shapes " + formatInts(a) + " and " +
                                  formatInts(b) +
                                  " do not broadcast to each other");
      return std::nullopt;
    }
    result[i] = m == 1 ? n : m;
  }
  return result;
}

Tensor Emitter::binary(const std::string &op, const Tensor &x, const Tensor &y,
                       const rt::Attributes &attributes) {
  if (x->type != y->type) {
    fail(ExitCode::Invalid, "the operands have the element types " +
                                std::string(rt::stringify(x->type)) + " and " +
                                std::string(rt::stringify(y->type)) +
                                ", expected one type");
  }
  auto dims = broadcastDims(x->dims, y->dims);
  return emit(op, {x, y}, attributes, x->type, dims ? *dims : x->dims);
}

Tensor Emitter::compare(const std::string &predicate, const Tensor &x,
                        const Tensor &y) {
  auto dims = broadcastDims(x->dims, y->dims);
  return emit("compare", {x, y}, {{"predicate", predicate}}, DType::Bool,
              dims ? *dims : x->dims);
}

Tensor Emitter::select(const Tensor &condition, const Tensor &x,
                       const Tensor &y) {
  auto dims = broadcastDims(x->dims, y->dims);
  if (dims) {
    dims = broadcastDims(condition->dims, *dims);
  }
  return emit("select", {condition, x, y}, {}, x->type, dims ? *dims : x->dims);
}

/// Constants are converted here, however large the results.
Tensor Emitter::cast(const Tensor &x, DType type, bool saturates) {
  if (x->type == type) {
    return x;
  }
  if (!saturates && isFloat8(type)) {
    return emit("cast", {x}, {{"saturate", int64_t{0}}}, type, x->dims);
  }
  if (x->isFoldable() && x->count() <= foldLimit_) {
    if (auto bytes = bytesOf(x)) {
      auto result = bytes->castTo(type);
      if (!result) {
        fail(result.status().code(), result.status().message());
        return x;
      }
      return constant(*result);
    }
  }
  return emit("cast", {x}, {}, type, x->dims);
}

Tensor Emitter::iota(DType type, rt::Dims dims, int64_t axis) {
  return emit("iota", {}, {{"axis", axis}}, type, std::move(dims));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

Tensor Emitter::reshape(const Tensor &x, rt::Dims dims) {
  if (x->dims == dims) {
    return x;
  }
  if (x->count() != rt::numElements(dims)) {
    fail(ExitCode::Invalid, "a tensor of shape " + formatInts(x->dims) +
                                " cannot have the shape " + formatInts(dims));
    return x;
  }
  if (x->isFoldable() && x->count() <= foldLimit_) {
    if (auto bytes = bytesOf(x)) {
      return constant(bytes->reshaped(std::move(dims)));
    }
  }
  return emit("reshape", {x}, {}, x->type, std::move(dims));
}

Tensor Emitter::transpose(const Tensor &x, const Ints &permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) {
    return x;
  }
  rt::Dims dims;
  for (int64_t axis : permutation) {
    dims.push_back(x->dims[static_cast<size_t>(axis)]);
  }
  return emit("transpose", {x}, {{"permutation", permutation}}, x->type,
              std::move(dims));
}

Tensor Emitter::expand(const Tensor &x, rt::Dims dims) {
  if (x->dims == dims) {
    return x;
  }
  Ints map(x->dims.size());
  std::iota(map.begin(), map.end(),
            static_cast<int64_t>(dims.size() - x->dims.size()));
  return emit("broadcast", {x}, {{"dims", map}}, x->type, std::move(dims));
}

/// How many indices start, start+step, … lie before `limit`.
static int64_t sliceExtent(int64_t start, int64_t limit, int64_t step) {
  int64_t reach = step > 0 ? limit - start : start - limit;
  // The magnitude of the most negative step has no int64.
  uint64_t size =
      step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return reach <= 0 ? 0
                    : static_cast<int64_t>(
                          (static_cast<uint64_t>(reach) - 1) / size + 1);
}

Tensor Emitter::slice(const Tensor &x, const Ints &starts, const Ints &limits,
                      const Ints &steps) {
  rt::Dims dims;
  bool isWhole = true;
  for (size_t i = 0; i < starts.size(); ++i) {
    dims.push_back(sliceExtent(starts[i], limits[i], steps[i]));
    isWhole &= starts[i] == 0 && steps[i] == 1 && dims[i] == x->dims[i];
  }
  if (isWhole) {
    return x;
  }
  return emit("slice", {x},
              {{"starts", starts}, {"limits", limits}, {"steps", steps}},
              x->type, std::move(dims));
}

Tensor Emitter::sliceAxis(const Tensor &x, int64_t axis, int64_t begin,
                          int64_t end) {
  Ints starts(x->dims.size(), 0), steps(x->dims.size(), 1);
  Ints limits = x->dims;
  starts[static_cast<size_t>(axis)] = begin;
  limits[static_cast<size_t>(axis)] = end;
  return slice(x, starts, limits, steps);
}

/// In 128 bits: a file can ask for any widths.
Tensor Emitter::pad(const Tensor &x, const Ints &lo, const Ints &hi,
                    double value) {
  rt::Dims dims;
  bool isNothing = true;
  for (size_t i = 0; i < lo.size(); ++i) {
    isNothing &= lo[i] == 0 && hi[i] == 0;
    __int128 extent = __int128{x->dims[i]} + lo[i] + hi[i];
    if (extent < 0 || extent > INT64_MAX) {
      fail(ExitCode::Invalid, "the pads " + std::to_string(lo[i]) + " and " +
                                  std::to_string(hi[i]) +
                                  " leave no extent of " +
                                  std::to_string(x->dims[i]));
      extent = 0;
    }
    dims.push_back(static_cast<int64_t>(extent));
  }
  if (isNothing) {
    return x;
  }
  return emit("pad", {x}, {{"lo", lo}, {"hi", hi}, {"value", value}}, x->type,
              std::move(dims));
}

/// Empty parts are dropped: shapes of exported models have them.
Tensor Emitter::concat(llvm::ArrayRef<Tensor> xs, int64_t axis) {
  size_t at = static_cast<size_t>(axis);
  std::vector<Tensor> parts;
  rt::Dims dims = xs.front()->dims;
  __int128 extent = 0;
  for (const Tensor &x : xs) {
    rt::Dims expected = dims;
    if (x->dims.size() == dims.size()) {
      expected[at] = x->dims[at];
    }
    if (x->dims != expected || x->type != xs.front()->type) {
      fail(ExitCode::Invalid, "cannot concatenate shapes " + formatInts(dims) +
                                  " and " + formatInts(x->dims) +
                                  " along axis " + std::to_string(axis));
      return xs.front();
    }
    extent += x->dims[at];
    if (x->dims[at] != 0) {
      parts.push_back(x);
    }
  }
  if (parts.size() <= 1) {
    return parts.empty() ? xs.front() : parts.front();
  }
  dims[at] = extent > INT64_MAX ? -1 : static_cast<int64_t>(extent);
  return emit("concat", parts, {{"axis", axis}}, parts.front()->type,
              std::move(dims));
}

//===----------------------------------------------------------------------===//
// Contraction and indexing
//===----------------------------------------------------------------------===//

Tensor Emitter::reduce(const std::string &kind, const Tensor &x,
                       const Ints &axes, bool keepDims) {
  rt::Dims dropped, kept = x->dims;
  for (size_t i = 0; i < x->dims.size(); ++i) {
    if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      kept[i] = 1;
    } else {
      dropped.push_back(x->dims[i]);
    }
  }
  rt::Attributes attributes{{"kind", kind}, {"axes", axes}};
  bool isSum = kind == "sum" || kind == "prod";
  Tensor result = axes.empty() ? x
                  : isSum ? sum("reduce", {x}, attributes, dropped)
                          : emit("reduce", {x}, attributes, x->type, dropped);
  return keepDims ? reshape(result, kept) : result;
}

Tensor Emitter::mean(const Tensor &x, const Ints &axes) {
  double count = 1;
  for (int64_t axis : axes) {
    count *= static_cast<double>(x->dims[static_cast<size_t>(axis)]);
  }
  DType type = rt::sumType(x->type);
  Tensor sum = reduce("sum", cast(x, type), axes, /*keepDims=*/true);
  return cast(binary("div", sum, scalar(type, count)), x->type);
}

Tensor Emitter::sum(const std::string &op, llvm::ArrayRef<Tensor> operands,
                    const rt::Attributes &attributes, rt::Dims dims) {
  DType type = operands.front()->type;
  DType wide = rt::isFloatType(type) ? rt::sumType(type) : type;
  return cast(emit(op, operands, attributes, wide, std::move(dims)), type);
}

/// The extents of the result follow from the labels, which is where operands
/// that disagree are found.
Tensor Emitter::matmul(const Tensor &a, const Tensor &b,
                       const std::string &labels) {
  std::map<char, int64_t> extents;
  size_t comma = labels.find(','), arrow = labels.find("->");
  for (size_t i = 0; i < a->dims.size(); ++i) {
    extents[labels[i]] = a->dims[i];
  }
  for (size_t i = 0; i < b->dims.size(); ++i) {
    char label = labels[comma + 1 + i];
    auto [it, isNew] = extents.emplace(label, b->dims[i]);
    if (!isNew && it->second != b->dims[i]) {
      fail(ExitCode::Invalid,
           "the shapes " + formatInts(a->dims) + " and " + formatInts(b->dims) +
               " do not match for a product \"" + labels + "\"");
    }
  }
  rt::Dims dims;
  for (char label : labels.substr(arrow + 2)) {
    dims.push_back(extents[label]);
  }
  return sum("matmul", {a, b}, {{"labels", labels}}, std::move(dims));
}

// By a table, so that each index is checked and may count from the end.
Tensor Emitter::scaleIndex(const Tensor &indices, int64_t extent,
                           int64_t stride) {
  Tensor table = binary("mul", iota(DType::I64, {extent}, 0),
                        scalar(DType::I64, static_cast<double>(stride)));
  return gather(table, indices, 0, 0);
}

// A flat index may be good where a component is not. One component alone is for
// the operator to check that takes the index.
Tensor Emitter::mergeIndices(const Tensor &indices, const rt::Dims &dims,
                             int64_t first) {
  Tensor flat;
  int64_t merged = 1, width = indices->dims.back();
  rt::Dims positions(indices->dims.begin(), indices->dims.end() - 1);
  for (int64_t j = width; j-- > 0;) {
    int64_t extent = dims[static_cast<size_t>(first + j)];
    Tensor part = sliceAxis(indices, indices->rank() - 1, j, j + 1);
    part = reshape(part, positions);
    part = width > 1 ? scaleIndex(part, extent, merged) : part;
    flat = flat ? binary("add", part, flat) : part;
    merged *= extent;
  }
  return flat;
}

Tensor Emitter::insert(const Tensor &x, const Tensor &slice, const Tensor &at,
                       int64_t axis) {
  return emit("insert", {x, slice, at}, {{"axis", axis}}, x->type, x->dims);
}

Tensor Emitter::insertRow(const Tensor &stack, const Tensor &row,
                          const Tensor &at, int64_t axis) {
  rt::Dims dims = row->dims;
  dims.insert(dims.begin() + axis, 1);
  return insert(stack, reshape(row, dims), at, axis);
}

Tensor Emitter::gather(const Tensor &data, const Tensor &indices, int64_t axis,
                       int64_t batchDims) {
  rt::Dims dims(data->dims.begin(), data->dims.begin() + axis);
  dims.insert(dims.end(), indices->dims.begin() + batchDims,
              indices->dims.end());
  dims.insert(dims.end(), data->dims.begin() + axis + 1, data->dims.end());
  return emit("gather", {data, indices},
              {{"axis", axis}, {"batch_dims", batchDims}}, data->type,
              std::move(dims));
}
