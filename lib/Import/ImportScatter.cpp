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

/// Of booleans, a sum and a maximum are their or, a product and a minimum their
/// and: as numbers.
static Tensor scatter(NodeImporter &node, const Tensor &init,
                      const Tensor &indices, const Tensor &updates,
                      int64_t batch, const std::string &kind) {
  if (init->type == DType::Bool && kind != "set") {
    Emitter &emit = node.emitter();
    bool isOr = kind == "add" || kind == "max";
    Tensor result =
        scatter(node, emit.cast(init, DType::U8), indices,
                emit.cast(updates, DType::U8), batch, isOr ? "max" : "min");
    return emit.cast(result, DType::Bool);
  }
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

/// The one index that `indices` repeat everywhere, as a scalar; null if they
/// are several, or not known to be one.
static Tensor soleIndex(Emitter &emit, const Tensor &indices) {
  if (indices->count() == 1) {
    return emit.reshape(indices, {});
  }
  auto repeated = indices->value
                      ? indices->value.getDefiningOp<nn::BroadcastOp>()
                      : nn::BroadcastOp();
  if (!repeated || repeated.getX().getType().getNumElements() != 1) {
    return nullptr;
  }
  mlir::ArrayRef<int64_t> shape = repeated.getX().getType().getShape();
  return emit.reshape(emit.argument(repeated.getX(), indices->type,
                                    rt::Dims(shape.begin(), shape.end())),
                      {});
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
  if (kind == "set" && indices->dims[static_cast<size_t>(axis)] == 1) {
    if (Tensor index = soleIndex(emit, indices)) {
      return node.setResult(0, emit.insert(data, updates, index, axis));
    }
  }
  Ints there = axisLast(rank, axis, /*back=*/false);
  Tensor result =
      scatter(node, emit.transpose(data, there), emit.transpose(indices, there),
              emit.transpose(updates, there), rank - 1, kind);
  node.setResult(0,
                 emit.transpose(result, axisLast(rank, axis, /*back=*/true)));
}

/// The dims that the indices address become one, addressed by index · stride.
/// Indices of no numbers address all of the data: a line of one element.
static void importScatterND(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &data = node.input(0), &indices = node.input(1),
               &updates = node.input(2);
  int64_t width = indices->rank() ? indices->dims.back() : -1;
  if (width < 0 || width > data->rank()) {
    return node.invalid("indices of rank " + std::to_string(indices->rank()) +
                        " do not address data of rank " +
                        std::to_string(data->rank()));
  }
  rt::Dims positions(indices->dims.begin(), indices->dims.end() - 1);
  Tensor flat =
      width ? emit.mergeIndices(indices, data->dims, 0)
            : emit.expand(emit.scalar(DType::I64, 0), std::move(positions));
  rt::Dims dims = {std::accumulate(data->dims.begin(),
                                   data->dims.begin() + width, int64_t{1},
                                   std::multiplies<>())};
  dims.insert(dims.end(), data->dims.begin() + width, data->dims.end());
  Tensor rows = emit.reshape(data, dims), result;
  if (kindOf(node) == "set" && flat->count() == 1 && dims[0] > 0) {
    rt::Dims row = dims;
    row[0] = 1;
    result = emit.insert(rows, emit.reshape(updates, row),
                         emit.reshape(flat, {}), 0);
  } else {
    result = scatter(node, rows, flat, updates, 0, kindOf(node));
  }
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
  int64_t rows = update->dims[static_cast<size_t>(axis)];
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
  // All dims before the axis are batches, so that nothing is transposed.
  rt::Dims line(cache->dims.begin(), cache->dims.begin() + axis), at = line;
  line.push_back(rows);
  std::fill(at.begin() + 1, at.end(), 1);
  at[0] = row->dims[0];
  at.push_back(rows);
  row = emit.expand(emit.reshape(row, at), line);
  node.setResult(0, scatter(node, cache, row, update, axis, "set"));
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

namespace {
/// How blocks lie in an image, by spatial dim.
struct Blocks {
  Ints image, block, strides, dilations, lo, hi;
  Ints count; ///< Positions of the block.
};
} // namespace

static Blocks readBlocks(NodeImporter &node) {
  Blocks blocks;
  blocks.image = node.constantInts(1).value_or(Ints());
  blocks.block = node.constantInts(2).value_or(Ints());
  size_t rank = blocks.image.size();
  auto read = [&](const char *name, size_t size, int64_t fallback) {
    Ints values = node.getInts(name);
    return values.empty() ? Ints(size, fallback) : values;
  };
  blocks.strides = read("strides", rank, 1);
  blocks.dilations = read("dilations", rank, 1);
  Ints pads = read("pads", 2 * rank, 0);
  bool fits = rank > 0 && blocks.block.size() == rank &&
              blocks.strides.size() == rank &&
              blocks.dilations.size() == rank && pads.size() == 2 * rank;
  for (size_t i = 0; fits && i < rank; ++i) {
    blocks.lo.push_back(pads[i]);
    blocks.hi.push_back(pads[i + rank]);
    int64_t reach = (blocks.block[i] - 1) * blocks.dilations[i] + 1;
    int64_t room = blocks.image[i] + pads[i] + pads[i + rank] - reach;
    fits = blocks.strides[i] > 0 && blocks.block[i] > 0 && room >= 0;
    blocks.count.push_back(fits ? room / blocks.strides[i] + 1 : 0);
  }
  const Tensor &x = node.input(0);
  auto product = [](const Ints &values) {
    return std::accumulate(values.begin(), values.end(), int64_t{1},
                           std::multiplies<>());
  };
  if (!node.failed() &&
      (!fits || x->rank() != 3 || x->dims[2] != product(blocks.count) ||
       x->dims[1] % product(blocks.block) != 0)) {
    node.invalid("columns of shape " + formatInts(x->dims) +
                 " do not fit an image of " + formatInts(blocks.image) +
                 " in blocks of " + formatInts(blocks.block));
  }
  return blocks;
}

/// Where element k of the block at position l lies in the image, [k, l] in
/// row-major order; the size of the image for padding.
static Ints placesOf(const Blocks &blocks, int64_t elements, int64_t positions,
                     int64_t size) {
  Ints places;
  for (int64_t k = 0; k < elements; ++k) {
    for (int64_t l = 0; l < positions; ++l) {
      int64_t place = 0, stride = 1, element = k, position = l;
      for (size_t d = blocks.image.size(); d-- > 0;) {
        int64_t at = position % blocks.count[d] * blocks.strides[d] +
                     element % blocks.block[d] * blocks.dilations[d] -
                     blocks.lo[d];
        bool isInside = at >= 0 && at < blocks.image[d];
        place = isInside && place >= 0 ? place + at * stride : -1;
        stride *= blocks.image[d];
        element /= blocks.block[d];
        position /= blocks.count[d];
      }
      places.push_back(place < 0 ? size : place);
    }
  }
  return places;
}

/// Blocks that overlap add up. What falls on the padding goes behind the image.
static void importCol2Im(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Blocks blocks = readBlocks(node);
  if (node.failed()) {
    return;
  }
  int64_t size = 1, elements = 1, positions = x->dims[2];
  for (size_t d = 0; d < blocks.image.size(); ++d) {
    size *= blocks.image[d];
    elements *= blocks.block[d];
  }
  int64_t planes = x->dims[0] * x->dims[1] / elements;
  Tensor columns = emit.reshape(x, {planes, elements * positions});
  Tensor places = emit.ints(placesOf(blocks, elements, positions, size));
  Tensor nothing = emit.expand(emit.scalar(x->type, 0), {size + 1, planes});
  Tensor sum =
      scatter(node, nothing, places, emit.transpose(columns, {1, 0}), 0, "add");
  sum = emit.transpose(emit.sliceAxis(sum, 0, 0, size), {1, 0});
  rt::Dims dims = {x->dims[0], x->dims[1] / elements};
  dims.insert(dims.end(), blocks.image.begin(), blocks.image.end());
  node.setResult(0, emit.reshape(sum, dims));
}

/// Elements go back to the indices that a MaxPool gave. Those are of the
/// smallest tensor that it can have had; an output_shape adds to its end.
static void importMaxUnpool(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0), &indices = node.input(1);
  Ints kernel = node.getInts("kernel_shape"), strides = node.getInts("strides"),
       pads = node.getInts("pads");
  size_t rank = kernel.size();
  strides = strides.empty() ? Ints(rank, 1) : strides;
  pads = pads.empty() ? Ints(2 * rank, 0) : pads;
  if (x->dims.size() != rank + 2 || indices->dims != x->dims ||
      strides.size() != rank || pads.size() != 2 * rank) {
    return node.invalid("indices of shape " + formatInts(indices->dims) +
                        " do not fit a tensor of shape " + formatInts(x->dims) +
                        " and its kernel_shape");
  }
  rt::Dims dims = x->dims;
  for (size_t i = 0; i < rank; ++i) {
    dims[i + 2] = (x->dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] -
                  pads[i + rank];
  }
  Ints wanted = dims;
  if (node.hasInput(2)) {
    wanted = node.constantInts(2).value_or(dims);
  }
  if (node.failed()) {
    return;
  }
  Ints none(dims.size(), 0), more = none;
  for (size_t i = 0; i < dims.size(); ++i) {
    more[i] = i < wanted.size() ? wanted[i] - dims[i] : -1;
    if (wanted.size() != dims.size() || dims[i] < 0 || more[i] < 0) {
      return node.invalid("it gives the shape " + formatInts(dims) +
                          ", which output_shape cannot make " +
                          formatInts(wanted));
    }
  }
  int64_t total = std::accumulate(dims.begin(), dims.end(), int64_t{1},
                                  std::multiplies<>());
  Tensor nothing = emit.expand(emit.scalar(x->type, 0), {total});
  Tensor line = scatter(node, nothing, emit.reshape(indices, {x->count()}),
                        emit.reshape(x, {x->count()}), 0, "set");
  node.setResult(0, emit.pad(emit.reshape(line, dims), none, more, 0));
}

llvm::ArrayRef<ImporterRow> divisi::scatterImporters() {
  static const ImporterRow kRows[] = {
      {"Col2Im", importCol2Im},
      {"MaxUnpool", importMaxUnpool},
      {"Scatter", importScatterElements},
      {"ScatterElements", importScatterElements},
      {"ScatterND", importScatterND},
      {"TensorScatter", importTensorScatter},
  };
  return kRows;
}
