//===- ImportScatter.cpp - Operators that write where data says -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

/// ONNX's word for how updates meet what is there.
static std::string kindOf(NodeImporter &node) {
  std::string kind = node.getString("reduction", "none");
  return kind == "none" ? "set" : kind;
}

static Tensor scatter(NodeImporter &node, const Tensor &init,
                      const Tensor &indices, const Tensor &updates,
                      int64_t batch, const std::string &kind) {
  return node.emitter().emit("scatter", {init, indices, updates},
                             {{"batch_dims", batch}, {"kind", kind}},
                             init->type, init->dims);
}

/// The same dims with `axis` last, or back.
static Ints axisLast(int64_t rank, int64_t axis, bool back) {
  Ints permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  auto first = permutation.begin() + axis;
  if (back) {
    std::rotate(first, permutation.end() - 1, permutation.end());
  } else {
    std::rotate(first, first + 1, permutation.end());
  }
  return permutation;
}

/// The row-major index in `extents` of what `indices` chooses along `axis`, at
/// each of its positions.
static Tensor flatIndex(Emitter &emit, const Tensor &indices, int64_t axis,
                        const rt::Dims &extents) {
  Tensor flat;
  int64_t stride = 1;
  for (int64_t d = indices->rank(); d-- > 0;) {
    rt::Dims line(indices->dims.size(), 1);
    line[static_cast<size_t>(d)] = indices->dims[static_cast<size_t>(d)];
    int64_t extent = extents[static_cast<size_t>(d)];
    Tensor index = d == axis ? indices : emit.iota(DType::I64, line, d);
    Tensor part = emit.scaleIndex(index, extent, stride);
    flat = flat ? emit.binary("add", flat, part) : part;
    stride *= extent;
  }
  return flat;
}

/// Every other dim of the data is a batch of its own, if the updates have all
/// of it; else the tensor is one line.
static void importScatterElements(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &data = node.input(0), &indices = node.input(1),
               &updates = node.input(2);
  int64_t rank = data->rank();
  int64_t axis = node.normalizeAxis(node.getInt("axis"), rank);
  if (node.failed()) {
    return;
  }
  if (indices->rank() != rank || updates->dims != indices->dims) {
    return node.invalid("indices and updates differ in shape, or from the data "
                        "in rank");
  }
  std::string kind = kindOf(node);
  bool isWhole = true;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t has = data->dims[static_cast<size_t>(d)];
    int64_t wants = indices->dims[static_cast<size_t>(d)];
    isWhole &= d == axis || wants == has;
    if (d != axis && wants > has) {
      return node.invalid("indices exceed the data along axis " +
                          std::to_string(d));
    }
  }
  if (!isWhole) {
    rt::Dims all = {data->count()}, some = {indices->count()};
    Tensor flat = flatIndex(emit, indices, axis, data->dims);
    Tensor line =
        scatter(node, emit.reshape(data, all), emit.reshape(flat, some),
                emit.reshape(updates, some), 0, kind);
    return node.setResult(0, emit.reshape(line, data->dims));
  }
  Ints there = axisLast(rank, axis, /*back=*/false);
  Tensor result =
      scatter(node, emit.transpose(data, there), emit.transpose(indices, there),
              emit.transpose(updates, there), rank - 1, kind);
  node.setResult(0,
                 emit.transpose(result, axisLast(rank, axis, /*back=*/true)));
}

/// The dims that the indices address become one, addressed by index · stride.
static void importScatterND(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &data = node.input(0), &indices = node.input(1),
               &updates = node.input(2);
  int64_t width = indices->rank() ? indices->dims.back() : 0;
  if (width < 1 || width > data->rank()) {
    return node.invalid("indices of rank " + std::to_string(indices->rank()) +
                        " do not address data of rank " +
                        std::to_string(data->rank()));
  }
  Tensor flat = emit.mergeIndices(indices, data->dims, 0);
  rt::Dims dims = {std::accumulate(data->dims.begin(),
                                   data->dims.begin() + width, int64_t{1},
                                   std::multiplies<>())};
  dims.insert(dims.end(), data->dims.begin() + width, data->dims.end());
  Tensor result =
      scatter(node, emit.reshape(data, dims), flat, updates, 0, kindOf(node));
  node.setResult(0, emit.reshape(result, data->dims));
}

/// Rows of a cache, one behind the other from a given one on.
static void importTensorScatter(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &cache = node.input(0), &update = node.input(1);
  int64_t rank = cache->rank();
  int64_t axis = node.normalizeAxis(node.getInt("axis", -2), rank);
  if (node.failed()) {
    return;
  }
  if (axis == 0 || update->rank() != rank) {
    return node.invalid("got axis " + std::to_string(axis) +
                        " and an update of rank " +
                        std::to_string(update->rank()) +
                        " for a cache of rank " + std::to_string(rank));
  }
  int64_t batch = cache->dims[0],
          rows = update->dims[static_cast<size_t>(axis)];
  int64_t extent = cache->dims[static_cast<size_t>(axis)];
  Tensor row = emit.iota(DType::I64, {1, rows}, 1);
  if (node.hasInput(2)) {
    Tensor first = emit.cast(node.input(2), DType::I64);
    row = emit.binary("add", emit.reshape(first, {first->count(), 1}), row);
  }
  if (node.getString("mode", "linear") == "circular") {
    row = emit.binary("mod", row,
                      emit.scalar(DType::I64, static_cast<double>(extent)),
                      {{"fmod", int64_t{0}}});
  }
  row = emit.expand(row, {batch, rows});
  // The axis to the second place, behind the batch.
  Ints there(static_cast<size_t>(rank)), back;
  std::iota(there.begin(), there.end(), 0);
  std::rotate(there.begin() + 1, there.begin() + axis,
              there.begin() + axis + 1);
  back = there;
  for (size_t d = 0; d < there.size(); ++d) {
    back[static_cast<size_t>(there[d])] = static_cast<int64_t>(d);
  }
  Tensor result = scatter(node, emit.transpose(cache, there), row,
                          emit.transpose(update, there), 1, "set");
  node.setResult(0, emit.transpose(result, back));
}

llvm::ArrayRef<ImporterRow> divisi::scatterImporters() {
  static const ImporterRow kRows[] = {
      {"Scatter", importScatterElements},
      {"ScatterElements", importScatterElements},
      {"ScatterND", importScatterND},
      {"TensorScatter", importTensorScatter},
  };
  return kRows;
}
