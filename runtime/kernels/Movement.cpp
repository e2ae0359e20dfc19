//===- Movement.cpp - Operators that move elements ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Movement.h"
#include "divisi/runtime/kernels/Copy.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Reshape.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {

/// Checks that a mover changes no type.
static bool sameTypes(const CallSite &site, const Checks &checks) {
  for (size_t i = 0; i < site.operands.size(); ++i) {
    if (!checks.operandType(i, site.results[0].type)) {
      return false;
    }
  }
  return true;
}

/// Whether there is one operand, of the result's type.
static bool takesOne(const CallSite &site, const Checks &checks) {
  return checks.counts(1, 1) && sameTypes(site, checks);
}

/// What is said of a call that moves no byte.
static KernelQuery aView(int64_t offset = 0) {
  KernelQuery query;
  query.views = {{0, 0, offset}};
  return query;
}

/// All of the result from one operand walked by `walk`.
static Movement moveAll(const CallSite &site, Walk walk) {
  const TensorInfo &result = site.results[0];
  Movement movement;
  if (result.count() != 0) {
    movement.parts.push_back(
        {0, result.extents, denseWalk(result), std::move(walk)});
  }
  return movement;
}

//===----------------------------------------------------------------------===//
// transpose, broadcast, slice
//===----------------------------------------------------------------------===//

static bool getPermutation(const CallSite &site, const Checks &checks,
                           Dims &permutation) {
  size_t rank = site.operands[0].rank();
  if (!checks.resultRank(0, rank) ||
      !checks.getInts("permutation", rank, 0, int64_t(rank) - 1, permutation)) {
    return false;
  }
  Dims sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return checks.fail("attribute 'permutation' is " + stringify(permutation) +
                       ", expected every dimension once");
  }
  return true;
}

static std::optional<Movement> planTranspose(const CallSite &site,
                                             const Checks &checks) {
  Dims permutation;
  Walk walk;
  if (!takesOne(site, checks) || !getPermutation(site, checks, permutation)) {
    return std::nullopt;
  }
  const TensorInfo &result = site.results[0];
  for (size_t d = 0; d < permutation.size(); ++d) {
    if (!checks.resultExtent(d, site.operands[0].global[permutation[d]]) ||
        !addAffine(site, checks, 0, permutation[d], result.offset[d], 1,
                   result.extents[d], walk)) {
      return std::nullopt;
    }
  }
  return moveAll(site, walk);
}

/// A transpose that only moves extents of 1 moves no byte.
static KernelQuery queryTranspose(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  Dims permutation;
  if (!checks.counts(1, 1) || !getPermutation(site, checks, permutation)) {
    return {};
  }
  int64_t last = -1;
  for (size_t d = 0; d < permutation.size(); ++d) {
    int64_t from = permutation[d];
    if (site.operands[0].extents[from] != site.results[0].extents[d] ||
        site.operands[0].offset[from] != site.results[0].offset[d]) {
      return {};
    }
    if (site.results[0].extents[d] != 1) {
      if (from < last) {
        return {};
      }
      last = from;
    }
  }
  return aView();
}

static std::optional<Movement> planBroadcast(const CallSite &site,
                                             const Checks &checks) {
  if (!takesOne(site, checks)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  Dims dims;
  if (!checks.getDims("dims", result.rank(), dims) ||
      !checks.operandRank(0, dims.size())) {
    return std::nullopt;
  }
  Walk walk;
  Dims strides(result.rank(), 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    size_t to = dims[d];
    bool repeats = operand.global[d] == 1;
    if ((!repeats && !checks.resultExtent(to, operand.global[d])) ||
        !addAffine(site, checks, 0, d, repeats ? 0 : result.offset[to],
                   repeats ? 0 : 1, result.extents[to], walk)) {
      return std::nullopt;
    }
    strides[to] = walk.strides.back();
  }
  walk.strides = strides;
  return moveAll(site, walk);
}

static std::optional<Movement> planSlice(const CallSite &site,
                                         const Checks &checks) {
  if (!takesOne(site, checks)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t rank = operand.rank();
  Dims starts, limits, steps;
  if (!checks.resultRank(0, rank) ||
      !checks.getInts("starts", rank, 0, maxExtent, starts) ||
      !checks.getInts("limits", rank, -1, maxExtent, limits) ||
      !checks.getInts("steps", rank, -maxExtent, maxExtent, steps)) {
    return std::nullopt;
  }
  Walk walk;
  for (size_t d = 0; d < rank; ++d) {
    if (steps[d] == 0) {
      checks.fail("attribute 'steps' holds 0");
      return std::nullopt;
    }
    int64_t span = steps[d] > 0 ? limits[d] - starts[d] : starts[d] - limits[d];
    int64_t size = std::abs(steps[d]);
    int64_t extent = span <= 0 ? 0 : (span - 1) / size + 1;
    // A step beyond the tensor is never taken: one element at most.
    int64_t step = extent <= 1 ? 1 : steps[d];
    if (!checks.resultExtent(d, extent) ||
        !addAffine(site, checks, 0, d, starts[d] + result.offset[d] * step,
                   step, result.extents[d], walk)) {
      return std::nullopt;
    }
  }
  return moveAll(site, walk);
}

/// Where the box of a slice begins in the operand's, in elements, if its
/// elements lie there one behind the other, at the same place in the boxes of
/// all ranks that are at most as large as these.
static std::optional<int64_t> sliceBegin(const TensorInfo &operand,
                                         const TensorInfo &result,
                                         const Dims &starts,
                                         const Dims &steps) {
  Dims strides = rowMajorStrides(operand.extents);
  int64_t begin = 0;
  bool isOne = true; // up to here, one index of each dimension
  bool isInside = false;
  for (size_t d = 0; d < operand.rank(); ++d) {
    bool isWhole = result.global[d] == operand.global[d] && steps[d] == 1;
    bool isUnsplit = operand.extents[d] == operand.global[d] &&
                     result.extents[d] == result.global[d];
    bool isTaken = isWhole ? result.extents[d] == operand.extents[d] &&
                                 result.offset[d] == operand.offset[d]
                           : isUnsplit && isOne;
    // A stride is one for all ranks where no dimension behind it is split.
    if (!isTaken || (isInside && !isUnsplit) ||
        (result.extents[d] > 1 && steps[d] != 1)) {
      return std::nullopt;
    }
    int64_t start = isWhole ? 0 : starts[d];
    begin += start * strides[d];
    isInside |= start != 0;
    isOne &= result.extents[d] == 1;
  }
  return begin;
}

/// A slice of elements that lie one behind the other moves none, where its
/// bytes begin where a kernel may take them.
static KernelQuery querySlice(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  if (!planSlice(site, checks) || site.results[0].count() == 0) {
    return {};
  }
  Dims starts, steps;
  size_t rank = site.operands[0].rank();
  if (!checks.getInts("starts", rank, 0, maxExtent, starts) ||
      !checks.getInts("steps", rank, -maxExtent, maxExtent, steps)) {
    return {};
  }
  std::optional<int64_t> begin =
      sliceBegin(site.operands[0], site.results[0], starts, steps);
  int64_t offset = begin.value_or(0) * byteWidth(site.results[0].type);
  return begin && offset % kernelAlignment == 0 ? aView(offset) : KernelQuery();
}

//===----------------------------------------------------------------------===//
// pad, concat
//===----------------------------------------------------------------------===//

/// Adds the part of the result that comes from `operand`, whose global index d
/// is the result's minus shift[d].
static bool addPart(const CallSite &site, const Checks &checks, size_t operand,
                    const Dims &shift, Movement &movement) {
  const TensorInfo &from = site.operands[operand], &result = site.results[0];
  MovedPart part{operand, Dims(result.rank()), {}, {}};
  part.to.strides = rowMajorStrides(result.extents);
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t begin = std::max(result.offset[d], shift[d]);
    int64_t end = std::min(result.offset[d] + result.extents[d],
                           shift[d] + from.global[d]);
    part.extents[d] = std::max<int64_t>(0, end - begin);
  }
  if (numElements(part.extents) == 0) {
    return true;
  }
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t begin = std::max(result.offset[d], shift[d]);
    part.to.base += (begin - result.offset[d]) * part.to.strides[d];
    if (!addAffine(site, checks, operand, d, begin - shift[d], 1,
                   part.extents[d], part.from)) {
      return false;
    }
  }
  movement.parts.push_back(std::move(part));
  return true;
}

static std::optional<Movement> planPad(const CallSite &site,
                                       const Checks &checks) {
  if (!takesOne(site, checks)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0];
  size_t rank = operand.rank();
  Dims low, high;
  double value = 0;
  if (!checks.resultRank(0, rank) ||
      !checks.getInts("lo", rank, -maxExtent, maxExtent, low) ||
      !checks.getInts("hi", rank, -maxExtent, maxExtent, high) ||
      !checks.getFloat("value", value)) {
    return std::nullopt;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (!checks.resultExtent(d, low[d] + operand.global[d] + high[d])) {
      return std::nullopt;
    }
  }
  Movement movement;
  if (!addPart(site, checks, 0, low, movement)) {
    return std::nullopt;
  }
  movement.fill = value;
  return movement;
}

static std::optional<Movement> planConcat(const CallSite &site,
                                          const Checks &checks) {
  if (!checks.counts(std::max<size_t>(1, site.operands.size()), 1) ||
      !sameTypes(site, checks)) {
    return std::nullopt;
  }
  const TensorInfo &result = site.results[0];
  int64_t axis = 0;
  if (!checks.getInt("axis", 0, int64_t(result.rank()) - 1, axis)) {
    return std::nullopt;
  }
  Movement movement;
  Dims shift(result.rank(), 0);
  for (size_t i = 0; i < site.operands.size(); ++i) {
    const TensorInfo &operand = site.operands[i];
    if (!checks.operandRank(i, result.rank())) {
      return std::nullopt;
    }
    for (size_t d = 0; d < result.rank(); ++d) {
      if (d != size_t(axis) && !checks.resultExtent(d, operand.global[d])) {
        return std::nullopt;
      }
    }
    if (!addPart(site, checks, i, shift, movement)) {
      return std::nullopt;
    }
    shift[axis] += operand.global[axis];
    if (shift[axis] > result.global[axis]) {
      break;
    }
  }
  if (!checks.resultExtent(axis, shift[axis])) {
    return std::nullopt;
  }
  return movement;
}

std::optional<Movement> planMovement(const CallSite &site,
                                     const Checks &checks) {
  return site.op == "nn.transpose"   ? planTranspose(site, checks)
         : site.op == "nn.broadcast" ? planBroadcast(site, checks)
         : site.op == "nn.slice"     ? planSlice(site, checks)
         : site.op == "nn.pad"       ? planPad(site, checks)
         : site.op == "nn.concat"    ? planConcat(site, checks)
                                     : std::nullopt;
}

static std::unique_ptr<PreparedKernel> prepareMovement(const CallSite &site,
                                                       std::string &error) {
  auto movement = planMovement(site, Checks(site, error));
  if (!movement) {
    return nullptr;
  }
  DType type = site.results[0].type;
  int64_t count = site.results[0].count(), moved = 0;
  std::vector<std::pair<size_t, StridedCopy>> copies;
  for (const MovedPart &part : movement->parts) {
    moved += numElements(part.extents);
    copies.emplace_back(part.operand, StridedCopy(byteWidth(type), part.extents,
                                                  part.to, part.from));
  }
  double value = movement->fill.value_or(0);
  bool fills = movement->fill && moved != count;
  return makeKernel([=](auto operands, auto results, void *) {
    if (fills) {
      fill(type, results[0], count, value);
    }
    for (const auto &[operand, copy] : copies) {
      copy.run(results[0], operands[operand]);
    }
  });
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

static KernelQuery queryReshape(const CallSite &site) {
  std::string ignored;
  if (!Checks(site, ignored).counts(1, 1) ||
      !reshapeKeepsBytes(site.operands[0], site.results[0])) {
    return {};
  }
  return aView();
}

static std::unique_ptr<PreparedKernel> prepareReshape(const CallSite &site,
                                                      std::string &error) {
  Checks checks(site, error);
  if (!takesOne(site, checks)) {
    return nullptr;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  int64_t width = byteWidth(result.type);
  if (reshapeKeepsBytes(operand, result)) {
    StridedCopy copy(width, {result.count()}, {0, {1}}, {0, {1}});
    return makeKernel([copy](auto operands, auto results, void *) {
      if (operands[0] != results[0]) {
        copy.run(results[0], operands[0]);
      }
    });
  }
  ReshapeMap map;
  if (!makeReshapeMap(site, checks, map)) {
    return nullptr;
  }
  return makeKernel([map, width](auto operands, auto results, void *) {
    map.run(width, results[0], operands[0]);
  });
}

std::span<const Kernel> movementKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.broadcast", 1, Parts, queryNothing, prepareMovement},
      {"nn.concat", 1, Parts, queryNothing, prepareMovement},
      {"nn.pad", 1, Parts, queryNothing, prepareMovement},
      {"nn.reshape", 1, Whole, queryReshape, prepareReshape},
      {"nn.slice", 1, Parts, querySlice, prepareMovement},
      {"nn.transpose", 1, Parts, queryTranspose, prepareMovement},
  };
  return kernels;
}

} // namespace divisi::rt
