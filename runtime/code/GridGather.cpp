//===- GridGather.cpp - Gathers in blocks of threads ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridGather.h"
#include "divisi/runtime/code/GridCode.h"
#include "runtime/kernels/Formats.h"

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Fills a gather, dimension by dimension of the result.
class GatherMaker {
public:
  GatherMaker(const CallSite &site, const Checks &checks, GridGather &gather)
      : site_(site), checks_(checks), gather_(gather),
        indexStrides_(rowMajorStrides(site.operands[Indices].extents)) {}
  bool make();

private:
  static constexpr size_t Data = 0, Indices = 1;

  bool makeGather(size_t axis, size_t batchDims);
  bool makeTakeAlong(size_t axis);
  bool addDim(int64_t ofData, int64_t ofIndices);

  const CallSite &site_;
  const Checks &checks_;
  GridGather &gather_;
  Dims indexStrides_, first_; ///< Of what is checked.
};

} // namespace

/// The next dimension of the result, which is that of the data and of the
/// indices that are not -1.
bool GatherMaker::addDim(int64_t ofData, int64_t ofIndices) {
  const TensorInfo &result = site_.results[0];
  size_t d = gather_.extents.size();
  int64_t first = result.offset[d], extent = result.extents[d];
  auto add = [&](size_t operand, int64_t dim, int64_t &base, Dims &strides) {
    if (dim < 0) {
      strides.push_back(0);
      return true;
    }
    const TensorInfo &info = site_.operands[operand];
    auto at = static_cast<size_t>(dim);
    int64_t stride = rowMajorStrides(info.extents)[at];
    base += (first - info.offset[at]) * stride;
    strides.push_back(stride);
    return checks_.resultExtent(d, info.global[at]) &&
           checks_.covers(operand, at, first, first + extent);
  };
  gather_.extents.push_back(extent);
  if (ofIndices >= 0) {
    first_.push_back(first);
    gather_.checkedExtents.push_back(extent);
  }
  return add(Data, ofData, gather_.dataBase, gather_.dataStrides) &&
         add(Indices, ofIndices, gather_.indexBase, gather_.indexStrides);
}

bool GatherMaker::makeGather(size_t axis, size_t batchDims) {
  size_t indexRank = site_.operands[Indices].rank();
  size_t dataRank = site_.operands[Data].rank();
  bool isDone = checks_.resultRank(0, dataRank - 1 + indexRank - batchDims);
  for (size_t d = 0; d < axis && isDone; ++d) {
    isDone = addDim(int64_t(d), d < batchDims ? int64_t(d) : -1);
  }
  for (size_t d = batchDims; d < indexRank && isDone; ++d) {
    isDone = addDim(-1, int64_t(d));
  }
  for (size_t d = axis + 1; d < dataRank && isDone; ++d) {
    isDone = addDim(int64_t(d), -1);
  }
  return isDone;
}

bool GatherMaker::makeTakeAlong(size_t axis) {
  size_t rank = site_.operands[Data].rank();
  bool isDone =
      checks_.operandRank(Indices, rank) && checks_.resultRank(0, rank);
  for (size_t d = 0; d < rank && isDone; ++d) {
    isDone = addDim(d == axis ? -1 : int64_t(d), int64_t(d));
  }
  return isDone;
}

bool GatherMaker::make() {
  const TensorInfo &data = site_.operands[Data];
  const TensorInfo &indices = site_.operands[Indices];
  bool isGather = site_.op == "nn.gather";
  int64_t axis = 0, batchDims = 0;
  if (!checks_.counts(2, 1) || !checks_.resultType(0, data.type) ||
      !checks_.getInt("axis", 0, int64_t(data.rank()) - 1, axis) ||
      (isGather &&
       !checks_.getInt("batch_dims", 0, std::min(axis, int64_t(indices.rank())),
                       batchDims)) ||
      !(isGather ? makeGather(size_t(axis), size_t(batchDims))
                 : makeTakeAlong(size_t(axis)))) {
    return false;
  }
  auto at = static_cast<size_t>(axis);
  gather_.width = byteWidth(data.type);
  gather_.indexType = indices.type;
  gather_.rowStride = rowMajorStrides(data.extents)[at];
  gather_.global = data.global[at];
  gather_.offset = data.offset[at];
  gather_.rows = data.extents[at];
  gather_.checkedStrides = indexStrides_;
  gather_.check = IndexCheck(site_, Indices, first_, gather_.checkedExtents,
                             gather_.global);
  return true;
}

std::optional<GridGather> GridGather::of(const CallSite &site) {
  bool isOther = site.op != "nn.gather" && site.op != "nn.take_along";
  if (isOther || site.region || site.operands.size() != 2 ||
      site.results.size() != 1 || hasFormats(site) ||
      (site.operands[1].type != DType::I32 &&
       site.operands[1].type != DType::I64)) {
    return std::nullopt;
  }
  std::string ignored;
  GridGather gather;
  Checks checks(site, ignored);
  return GatherMaker(site, checks, gather).make() ? std::optional(gather)
                                                  : std::nullopt;
}

std::string GridGather::structure() const {
  return "gather " + std::to_string(width) + " bytes by " +
         std::string(stringify(indexType)) + ", " +
         std::to_string(extents.size()) + " dims, " +
         std::to_string(checkedExtents.size()) + " of indices";
}

GridLaunch GridGather::launch() const {
  GridLaunch launch;
  int64_t count = numElements(extents);
  launch.blockX = threads;
  launch.gridX = blocksFor(count, threads);
  int64_t indexBytes = indexBase * byteWidth(indexType);
  launch.pointers = {
      {2}, {0, dataBase * width}, {1, indexBytes}, {GridLaunch::workspace}};
  auto add = [&](const Dims &dims) {
    launch.numbers.insert(launch.numbers.end(), dims.begin(), dims.end());
  };
  launch.numbers = {count};
  add(extents);
  add(dataStrides);
  add(indexStrides);
  add({rowStride, global, offset, rows,
       check.isOn() ? numElements(checkedExtents) : 0});
  add(checkedExtents);
  add(checkedStrides);
  return launch;
}
