//===- ImportIndex.cpp - Import of gathers and of index arithmetic --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"
#include "divisi/Support/CheckedMath.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Fails if `indices` are constant and one lies outside [-extent, extent); one
/// index has a component per extent. The kernels check all others.
static bool checkIndices(NodeImporter &node, const Tensor &indices,
                         llvm::ArrayRef<int64_t> extents) {
  auto known =
      indices->isFoldable() ? node.emitter().bytesOf(indices) : std::nullopt;
  for (int64_t i = 0; known && i < known->count(); ++i) {
    int64_t index = known->intAt(i);
    int64_t extent = extents[static_cast<size_t>(i) % extents.size()];
    if (index < -extent || index >= extent) {
      node.invalid("got the index " + std::to_string(index) +
                   " into an extent of " + std::to_string(extent));
    }
  }
  return !node.failed();
}

static void importGather(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &data = node.input(0), &indices = node.input(1);
  int64_t axis = node.normalizeAxis(node.getInt("axis"), data->rank());
  if (node.failed()) {
    return;
  }
  int64_t extent = data->dims[static_cast<size_t>(axis)];
  if (!checkIndices(node, indices, extent)) {
    return;
  }
  // One constant index is a slice, whose layout follows the data's.
  if (indices->isFoldable() && indices->rank() == 0) {
    auto known = emit.bytesOf(indices);
    if (!known) {
      return;
    }
    int64_t at =
        known->intAt(0) < 0 ? known->intAt(0) + extent : known->intAt(0);
    rt::Dims dims = data->dims;
    dims.erase(dims.begin() + axis);
    return node.setResult(
        0, emit.reshape(emit.sliceAxis(data, axis, at, at + 1), dims));
  }
  node.setResult(0, emit.gather(data, indices, axis, 0));
}

/// Only the part of the data that the indices can reach along other axes.
static void importGatherElements(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor data = node.input(0);
  const Tensor &indices = node.input(1);
  int64_t axis = node.normalizeAxis(node.getInt("axis"), data->rank());
  if (node.failed()) {
    return;
  }
  if (indices->rank() != data->rank()) {
    return node.invalid("indices and data differ in rank");
  }
  for (int64_t i = 0; i < data->rank(); ++i) {
    int64_t wanted = indices->dims[static_cast<size_t>(i)];
    if (i == axis) {
      continue;
    }
    if (wanted > data->dims[static_cast<size_t>(i)]) {
      return node.invalid("indices exceed the data along axis " +
                          std::to_string(i));
    }
    data = emit.sliceAxis(data, i, 0, wanted);
  }
  if (!checkIndices(node, indices, data->dims[static_cast<size_t>(axis)])) {
    return;
  }
  node.setResult(0, emit.emit("take_along", {data, indices}, {{"axis", axis}},
                              data->type, indices->dims));
}

namespace {
/// One component of constant GatherND indices, as a function of one position.
struct Component {
  int64_t dim = -1; ///< The dim of the indices that it depends on, or none.
  Ints values;      ///< Per position along that dim; one without a dim.
};
} // namespace

/// Component `j` of `indices` [P.., K], if it depends on one dim at most.
static std::optional<Component> componentOf(const rt::HostTensor &indices,
                                            int64_t j, int64_t extent) {
  int64_t width = indices.dims().back();
  int64_t count = indices.count() / width;
  rt::Dims positions(indices.dims().begin(), indices.dims().end() - 1);
  // A dim matters if the first step along it changes the value.
  Component result;
  int64_t stride = count;
  for (size_t d = 0; d < positions.size(); ++d) {
    stride /= positions[d];
    for (int64_t i = 1; i < positions[d]; ++i) {
      if (indices.intAt(i * stride * width + j) != indices.intAt(j)) {
        if (result.dim >= 0) {
          return std::nullopt;
        }
        result.dim = static_cast<int64_t>(d);
        break;
      }
    }
  }
  stride = 1;
  for (size_t d = positions.size(); result.dim >= 0 && d-- > 0;) {
    if (static_cast<int64_t>(d) == result.dim) {
      break;
    }
    stride *= positions[d];
  }
  int64_t length =
      result.dim < 0 ? 1 : positions[static_cast<size_t>(result.dim)];
  for (int64_t i = 0; i < length; ++i) {
    int64_t index = indices.intAt(i * stride * width + j);
    result.values.push_back(index < 0 ? index + extent : index);
  }
  for (int64_t p = 0; p < count; ++p) {
    int64_t index = indices.intAt(p * width + j);
    int64_t at = result.dim < 0 ? 0 : p / stride % length;
    if ((index < 0 ? index + extent : index) !=
        result.values[static_cast<size_t>(at)]) {
      return std::nullopt;
    }
  }
  return result;
}

static bool isCounting(const Ints &values, int64_t extent) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int64_t>(i)) {
      return false;
    }
  }
  return static_cast<int64_t>(values.size()) == extent;
}

/// Exporters write mask[b, s] for all b and s as a GatherND of all pairs. When
/// every component of the indices follows one dim, the gather is one along
/// each axis, none where the indices only count, and then a broadcast.
static bool importSeparableGatherND(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &indices = node.input(1);
  Tensor result = node.input(0);
  auto known = emit.bytesOf(indices);
  if (!known || known->count() == 0) {
    return false;
  }
  std::vector<Component> components;
  Ints dims;
  for (int64_t j = 0; j < indices->dims.back(); ++j) {
    auto component =
        componentOf(*known, j, result->dims[static_cast<size_t>(j)]);
    if (!component || (component->dim >= 0 &&
                       std::count(dims.begin(), dims.end(), component->dim))) {
      return false;
    }
    dims.push_back(component->dim);
    components.push_back(std::move(*component));
  }
  for (size_t j = 0; j < components.size(); ++j) {
    if (!isCounting(components[j].values, result->dims[j])) {
      result = emit.gather(result, emit.ints(components[j].values),
                           static_cast<int64_t>(j), 0);
    }
  }
  // Order the components by the dim that each follows; those without first.
  Ints order(result->dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.begin() + static_cast<int64_t>(dims.size()),
      [&](int64_t a, int64_t b) {
        return dims[static_cast<size_t>(a)] < dims[static_cast<size_t>(b)];
      });
  result = emit.transpose(result, order);
  rt::Dims thin(indices->dims.size() - 1, 1);
  rt::Dims full(indices->dims.begin(), indices->dims.end() - 1);
  for (const Component &component : components) {
    if (component.dim >= 0) {
      thin[static_cast<size_t>(component.dim)] =
          static_cast<int64_t>(component.values.size());
    }
  }
  auto rest = result->dims.begin() + static_cast<int64_t>(dims.size());
  thin.insert(thin.end(), rest, result->dims.end());
  full.insert(full.end(), rest, result->dims.end());
  node.setResult(0, emit.expand(emit.reshape(result, thin), full));
  return true;
}

/// In general: the dims that the indices address become one, addressed by
/// index · stride.
static void importGatherND(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &data = node.input(0), &indices = node.input(1);
  int64_t batch = node.getInt("batch_dims");
  int64_t width = indices->rank() ? indices->dims.back() : 0;
  if (batch < 0 || width < 1 || batch >= indices->rank() ||
      batch + width > data->rank() ||
      !std::equal(data->dims.begin(), data->dims.begin() + batch,
                  indices->dims.begin())) {
    return node.invalid("indices of rank " + std::to_string(indices->rank()) +
                        " do not address data of rank " +
                        std::to_string(data->rank()));
  }
  llvm::ArrayRef<int64_t> extents(data->dims);
  if (!checkIndices(node, indices,
                    extents.slice(size_t(batch), size_t(width))) ||
      (indices->isFoldable() && batch == 0 && importSeparableGatherND(node))) {
    return;
  }
  Tensor flat = emit.mergeIndices(indices, data->dims, batch);
  int64_t merged = 1;
  for (int64_t j = 0; j < width; ++j) {
    merged *= data->dims[static_cast<size_t>(batch + j)];
  }
  rt::Dims dims(data->dims.begin(), data->dims.begin() + batch);
  dims.push_back(merged);
  dims.insert(dims.end(), data->dims.begin() + batch + width, data->dims.end());
  node.setResult(0, emit.gather(emit.reshape(data, dims), flat, batch, batch));
}

//===----------------------------------------------------------------------===//
// Made from positions
//===----------------------------------------------------------------------===//

static void importOneHot(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &indices = node.input(0), &values = node.input(2);
  auto depth = node.constantNumber(1);
  int64_t axis =
      node.normalizeAxis(node.getInt("axis", -1), indices->rank() + 1);
  if (!depth || node.failed()) {
    return;
  }
  if (*depth < 1 || *depth > 1e15 || values->dims != rt::Dims{2}) {
    return node.invalid("got depth " + std::to_string(*depth));
  }
  int64_t extent = static_cast<int64_t>(*depth);
  // Below 0 they count from the end; those outside of it are nowhere hot.
  Tensor wanted = emit.cast(indices, DType::I64);
  wanted = emit.select(
      emit.compare("lt", wanted, emit.scalar(DType::I64, 0)),
      emit.binary("add", wanted, emit.scalar(DType::I64, *depth)), wanted);
  rt::Dims dims = indices->dims, line(dims.size() + 1, 1);
  dims.insert(dims.begin() + axis, 1);
  line[static_cast<size_t>(axis)] = extent;
  Tensor is = emit.compare("eq", emit.reshape(wanted, dims),
                           emit.iota(DType::I64, line, axis));
  Tensor off = emit.reshape(emit.sliceAxis(values, 0, 0, 1), {});
  Tensor on = emit.reshape(emit.sliceAxis(values, 0, 1, 2), {});
  node.setResult(0, emit.select(is, on, off));
}

/// Whether column - row compares with k so, for the last two of `dims`.
static Tensor bandMask(Emitter &emit, const rt::Dims &dims,
                       const std::string &predicate, int64_t k) {
  rt::Dims rows = {dims[dims.size() - 2], 1}, columns = {1, dims.back()};
  Tensor row = emit.iota(DType::I64, rows, 0);
  Tensor column = emit.iota(DType::I64, columns, 1);
  Tensor shifted = emit.binary("add", row, emit.integer(k));
  return emit.compare(predicate, column, shifted);
}

static void importTrilu(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  if (x->rank() < 2) {
    return node.invalid("got a tensor of rank " + std::to_string(x->rank()));
  }
  int64_t limit = int64_t{1} << 40, k = 0;
  if (auto given = node.constantInts(1); given && !given->empty()) {
    k = std::clamp(given->front(), -limit, limit);
  }
  Tensor mask =
      bandMask(emit, x->dims, node.getInt("upper", 1) ? "ge" : "le", k);
  node.setResult(0, emit.select(mask, x, emit.scalar(x->type, 0)));
}

static void importEyeLike(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  auto type = node.hasAttribute("dtype")
                  ? convertType(static_cast<int>(node.getInt("dtype")))
                  : std::optional(x->type);
  if (!type || x->rank() != 2) {
    return node.invalid("expected a matrix and an element type");
  }
  int64_t limit = int64_t{1} << 40;
  Tensor mask = bandMask(emit, x->dims, "eq",
                         std::clamp(node.getInt("k"), -limit, limit));
  node.setResult(0, emit.cast(mask, *type));
}

/// start, start + delta, … before limit.
static void importRange(NodeImporter &node) {
  Emitter &emit = node.emitter();
  auto start = node.constantNumber(0), limit = node.constantNumber(1),
       delta = node.constantNumber(2);
  if (!start || !limit || !delta) {
    return;
  }
  double count = std::ceil((*limit - *start) / *delta);
  if (*delta == 0 || !(count < 1e15)) {
    return node.invalid("it has no end");
  }
  DType type = node.input(0)->type;
  Tensor line =
      emit.iota(type, {count > 0 ? static_cast<int64_t>(count) : 0}, 0);
  Tensor steps = emit.binary("mul", line, node.input(2));
  node.setResult(0, emit.binary("add", steps, node.input(0)));
}

/// Row b in reverse up to its length: a gather of length - 1 - t there, and of
/// t behind it.
static void importReverseSequence(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t batchAxis = node.getInt("batch_axis", 1),
          timeAxis = node.getInt("time_axis", 0);
  if (x->rank() < 2 || batchAxis + timeAxis != 1 || batchAxis * timeAxis != 0 ||
      node.input(1)->dims != rt::Dims{x->dims[size_t(batchAxis)]}) {
    return node.invalid("lengths of shape " + formatInts(node.input(1)->dims) +
                        " do not fit a tensor of shape " + formatInts(x->dims));
  }
  Ints there(x->dims.size());
  std::iota(there.begin(), there.end(), 0);
  std::swap(there[0], there[size_t(batchAxis)]);
  Tensor rows = emit.transpose(x, there);
  Tensor length =
      emit.reshape(emit.cast(node.input(1), DType::I64), {rows->dims[0], 1});
  Tensor time = emit.iota(DType::I64, {1, rows->dims[1]}, 1);
  Tensor last = emit.binary("sub", length, emit.scalar(DType::I64, 1));
  Tensor index = emit.select(emit.compare("lt", time, length),
                             emit.binary("sub", last, time), time);
  node.setResult(0, emit.transpose(emit.gather(rows, index, 1, 1), there));
}

llvm::ArrayRef<ImporterRow> divisi::indexImporters() {
  static const ImporterRow kRows[] = {
      {"EyeLike", importEyeLike},
      {"Gather", importGather},
      {"GatherElements", importGatherElements},
      {"GatherND", importGatherND},
      {"OneHot", importOneHot},
      {"Range", importRange},
      {"ReverseSequence", importReverseSequence},
      {"Trilu", importTrilu},
  };
  return kRows;
}
