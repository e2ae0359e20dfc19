//===- GridScatter.cpp - Writing rows in blocks of threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridScatter.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

static constexpr std::string_view kinds[] = {"set", "add", "mul", "max", "min"};

static bool isIndex(DType type) { return (typeBit(type) & Indices) != 0; }

namespace {

/// Fills a scatter, dimension by dimension.
class ScatterMaker {
public:
  ScatterMaker(const CallSite &site, const Checks &checks, GridScatter &scatter)
      : site_(site), checks_(checks), scatter_(scatter) {}
  bool make(size_t batch);

private:
  static constexpr size_t Init = 0, At = 1, Updates = 2;

  int64_t strideOf(size_t operand, size_t dim) const {
    return rowMajorStrides(site_.operands[operand].extents)[dim];
  }
  bool addAligned(size_t operand, size_t from, size_t to, int64_t &base,
                  Dims &strides);
  bool addWhole(size_t operand, size_t dim, int64_t &base, Dims &strides);
  bool addDims(size_t batch);

  const CallSite &site_;
  const Checks &checks_;
  GridScatter &scatter_;
};

} // namespace

/// Dimension `from` of the operand is read where dimension `to` of the result
/// is.
bool ScatterMaker::addAligned(size_t operand, size_t from, size_t to,
                              int64_t &base, Dims &strides) {
  const TensorInfo &info = site_.operands[operand], &result = site_.results[0];
  int64_t first = result.offset[to];
  strides.push_back(strideOf(operand, from));
  base += (first - info.offset[from]) * strides.back();
  return checks_.resultExtent(to, info.global[from]) &&
         checks_.covers(operand, from, first, first + result.extents[to]);
}

/// All of the dimension is read.
bool ScatterMaker::addWhole(size_t operand, size_t dim, int64_t &base,
                            Dims &strides) {
  const TensorInfo &info = site_.operands[operand];
  strides.push_back(strideOf(operand, dim));
  base -= info.offset[dim] * strides.back();
  int64_t extent = site_.operands[At].global[dim];
  return info.global[dim] == extent && checks_.covers(operand, dim, 0, extent);
}

bool ScatterMaker::addDims(size_t batch) {
  const TensorInfo &result = site_.results[0];
  size_t indexRank = site_.operands[At].rank();
  Dims strides = rowMajorStrides(result.extents);
  GridScatter &s = scatter_;
  bool isDone = true;
  for (size_t d = 0; d < batch && isDone; ++d) {
    s.batches.push_back(result.extents[d]);
    s.toBatch.push_back(strides[d]);
    isDone = addAligned(Init, d, d, s.initBase, s.initBatch) &&
             addAligned(Updates, d, d, s.updateBase, s.updateBatch) &&
             addAligned(At, d, d, s.indexBase, s.indexBatch);
  }
  for (size_t d = batch; d < indexRank && isDone; ++d) {
    s.indexExtents.push_back(site_.operands[At].global[d]);
    isDone = addWhole(At, d, s.indexBase, s.indexStrides) &&
             addWhole(Updates, d, s.updateBase, s.updateStrides);
  }
  for (size_t d = batch + 1; d < result.rank() && isDone; ++d) {
    s.rowExtents.push_back(result.extents[d]);
    s.toRow.push_back(strides[d]);
    isDone = addAligned(Init, d, d, s.initBase, s.initRow) &&
             addAligned(Updates, indexRank + d - batch - 1, d, s.updateBase,
                        s.updateRow);
  }
  Dims ofRows;
  isDone = isDone && addAligned(Init, batch, batch, s.initBase, ofRows);
  s.initStride = isDone ? ofRows[0] : 0;
  s.toStride = strides[batch];
  return isDone;
}

bool ScatterMaker::make(size_t batch) {
  const TensorInfo &result = site_.results[0], &indices = site_.operands[At];
  if (!checks_.resultRank(0, site_.operands[Init].rank()) ||
      !checks_.operandRank(Updates,
                           indices.rank() + result.rank() - batch - 1) ||
      !addDims(batch)) {
    return false;
  }
  scatter_.rows = result.extents[batch];
  scatter_.firstRow = result.offset[batch];
  scatter_.allRows = result.global[batch];
  Dims first(indices.rank(), 0), extents = scatter_.batches;
  std::copy_n(result.offset.begin(), batch, first.begin());
  extents.insert(extents.end(), scatter_.indexExtents.begin(),
                 scatter_.indexExtents.end());
  scatter_.checkedStrides = scatter_.indexBatch;
  scatter_.checkedStrides.insert(scatter_.checkedStrides.end(),
                                 scatter_.indexStrides.begin(),
                                 scatter_.indexStrides.end());
  scatter_.check = IndexCheck(site_, At, first, extents, scatter_.allRows);
  return true;
}

std::optional<GridScatter> GridScatter::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  size_t kind = 0;
  int64_t batch = 0;
  if (site.op != "nn.scatter" || site.region || hasFormats(site) ||
      !checks.counts(3, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.operandType(2, site.operands[0].type) ||
      !isIndex(site.operands[1].type) ||
      !checks.getChoice("kind", kinds, kind) ||
      !checks.getInt("batch_dims", 0,
                     std::min(int64_t(site.operands[0].rank()) - 1,
                              int64_t(site.operands[1].rank())),
                     batch)) {
    return std::nullopt;
  }
  GridScatter scatter;
  scatter.kind = Kind(kind);
  scatter.type = site.operands[0].type;
  scatter.indexType = site.operands[1].type;
  bool isKnown = scatter.kind == Kind::Set
                     ? scatter.type != DType::Field
                     : (typeBit(scatter.type) & (Floats | Ints)) != 0;
  return isKnown && ScatterMaker(site, checks, scatter).make(size_t(batch))
             ? std::optional(scatter)
             : std::nullopt;
}

std::string GridScatter::structure() const {
  return "scatter " + std::string(kinds[size_t(kind)]) + " " +
         std::string(stringify(type)) + " by " +
         std::string(stringify(indexType)) + ", " +
         std::to_string(batches.size()) + " batch dims, " +
         std::to_string(indexExtents.size()) + " of indices, " +
         std::to_string(rowExtents.size()) + " of rows";
}

GridLaunch GridScatter::launch() const {
  // Enough threads for a GPU, of which no two have the same rows.
  constexpr int64_t enough = 1 << 16;
  int64_t columns = numElements(batches) * numElements(rowExtents);
  int64_t parts = std::clamp<int64_t>(enough / std::max<int64_t>(columns, 1), 1,
                                      std::max<int64_t>(rows, 1));
  GridLaunch launch = launchElements(columns * parts);
  int64_t width = byteWidth(type);
  launch.pointers = {{3},
                     {0, initBase * width},
                     {2, updateBase * width},
                     {1, indexBase * byteWidth(indexType)},
                     {GridLaunch::workspace}};
  launch.numbers = {columns * parts, parts};
  for (const Dims *dims :
       {&batches, &toBatch, &initBatch, &indexBatch, &updateBatch, &rowExtents,
        &toRow, &initRow, &updateRow}) {
    launch.addNumbers(*dims);
  }
  launch.addNumbers({numElements(indexExtents)});
  for (const Dims *dims : {&indexExtents, &indexStrides, &updateStrides}) {
    launch.addNumbers(*dims);
  }
  launch.addNumbers({rows, firstRow, allRows, toStride, initStride});
  int64_t checked = numElements(batches) * numElements(indexExtents);
  launch.addNumbers({check.isOn() ? checked : 0});
  launch.addNumbers(batches);
  launch.addNumbers(indexExtents);
  launch.addNumbers(checkedStrides);
  return launch;
}

/// What is read along dimension `d`.
static bool addDim(const CallSite &site, const Checks &checks, size_t d,
                   GridInsert &insert) {
  const TensorInfo &tensor = site.operands[0], &slice = site.operands[1];
  const TensorInfo &result = site.results[0];
  int64_t first = result.offset[d], end = first + result.extents[d];
  insert.extents.push_back(result.extents[d]);
  insert.strides.push_back(rowMajorStrides(tensor.extents)[d]);
  insert.base += (first - tensor.offset[d]) * insert.strides.back();
  insert.sliceStrides.push_back(rowMajorStrides(slice.extents)[d]);
  if (!checks.resultExtent(d, tensor.global[d]) ||
      !checks.covers(0, d, first, end)) {
    return false;
  }
  if (d == insert.axis) {
    insert.sliceBase -= slice.offset[d] * insert.sliceStrides.back();
    return checks.covers(1, d, 0, slice.global[d]);
  }
  insert.sliceBase += (first - slice.offset[d]) * insert.sliceStrides.back();
  return checks.resultExtent(d, slice.global[d]) &&
         checks.covers(1, d, first, end);
}

std::optional<GridInsert> GridInsert::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  int64_t axis = 0;
  if (site.op != "nn.insert" || site.region || hasFormats(site) ||
      !checks.counts(3, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.operandType(1, site.operands[0].type) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !checks.operandRank(1, site.operands[0].rank()) ||
      !checks.operandRank(2, 0) || !isIndex(site.operands[2].type) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis)) {
    return std::nullopt;
  }
  GridInsert insert;
  insert.width = byteWidth(site.results[0].type);
  insert.indexType = site.operands[2].type;
  insert.axis = size_t(axis);
  insert.firstRow = site.results[0].offset[insert.axis];
  insert.sliceRows = site.operands[1].global[insert.axis];
  insert.places = site.results[0].global[insert.axis] - insert.sliceRows + 1;
  bool isKnown = insert.places > 0;
  for (size_t d = 0; d < site.results[0].rank() && isKnown; ++d) {
    isKnown = addDim(site, checks, d, insert);
  }
  insert.check = IndexCheck(site, 2, {}, {}, insert.places);
  return isKnown ? std::optional(insert) : std::nullopt;
}

std::string GridInsert::structure() const {
  return "insert " + std::to_string(width) + " bytes by " +
         std::string(stringify(indexType)) + ", " +
         std::to_string(extents.size()) + " dims, along " +
         std::to_string(axis);
}

GridLaunch GridInsert::launch() const {
  int64_t count = numElements(extents);
  GridLaunch launch = launchElements(count);
  launch.pointers = {{3},
                     {0, base * width},
                     {1, sliceBase * width},
                     {2},
                     {GridLaunch::workspace}};
  launch.numbers = {count};
  for (const Dims *dims : {&extents, &strides, &sliceStrides}) {
    launch.addNumbers(*dims);
  }
  launch.addNumbers({firstRow, sliceRows, places, check.isOn() ? 1 : 0});
  return launch;
}
