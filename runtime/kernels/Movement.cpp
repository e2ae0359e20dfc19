//===- Movement.cpp - Operators that move elements ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Copy.h"
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
static KernelQuery aView() {
  KernelQuery query;
  query.views = {{0, 0}};
  return query;
}

/// The kernel that fills the result from one operand walked by `walk`.
static std::unique_ptr<PreparedKernel> makeCopy(const CallSite &site,
                                                const Walk &walk) {
  const TensorInfo &result = site.results[0];
  StridedCopy copy(byteWidth(result.type), result.extents, denseWalk(result),
                   walk);
  return makeKernel([copy](auto operands, auto results, void *) {
    copy.run(results[0], operands[0]);
  });
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

static std::unique_ptr<PreparedKernel> prepareTranspose(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  Dims permutation;
  Walk walk;
  if (!takesOne(site, checks) || !getPermutation(site, checks, permutation)) {
    return nullptr;
  }
  const TensorInfo &result = site.results[0];
  for (size_t d = 0; d < permutation.size(); ++d) {
    if (!checks.resultExtent(d, site.operands[0].global[permutation[d]]) ||
        !addAffine(site, checks, 0, permutation[d], result.offset[d], 1,
                   result.extents[d], walk)) {
      return nullptr;
    }
  }
  return makeCopy(site, walk);
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

static std::unique_ptr<PreparedKernel> prepareBroadcast(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  if (!takesOne(site, checks)) {
    return nullptr;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  Dims dims;
  if (!checks.getDims("dims", result.rank(), dims) ||
      !checks.operandRank(0, dims.size())) {
    return nullptr;
  }
  Walk walk;
  Dims strides(result.rank(), 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    size_t to = dims[d];
    bool repeats = operand.global[d] == 1;
    if ((!repeats && !checks.resultExtent(to, operand.global[d])) ||
        !addAffine(site, checks, 0, d, repeats ? 0 : result.offset[to],
                   repeats ? 0 : 1, result.extents[to], walk)) {
      return nullptr;
    }
    strides[to] = walk.strides.back();
  }
  walk.strides = strides;
  return makeCopy(site, walk);
}

static std::unique_ptr<PreparedKernel> prepareSlice(const CallSite &site,
                                                    std::string &error) {
  Checks checks(site, error);
  if (!takesOne(site, checks)) {
    return nullptr;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t rank = operand.rank();
  Dims starts, limits, steps;
  if (!checks.resultRank(0, rank) ||
      !checks.getInts("starts", rank, 0, maxExtent, starts) ||
      !checks.getInts("limits", rank, -1, maxExtent, limits) ||
      !checks.getInts("steps", rank, -maxExtent, maxExtent, steps)) {
    return nullptr;
  }
  Walk walk;
  for (size_t d = 0; d < rank; ++d) {
    if (steps[d] == 0) {
      checks.fail("attribute 'steps' holds 0");
      return nullptr;
    }
    int64_t span = steps[d] > 0 ? limits[d] - starts[d] : starts[d] - limits[d];
    int64_t size = std::abs(steps[d]);
    int64_t extent = span <= 0 ? 0 : (span - 1) / size + 1;
    // A step beyond the tensor is never taken: one element at most.
    int64_t step = extent <= 1 ? 1 : steps[d];
    if (!checks.resultExtent(d, extent) ||
        !addAffine(site, checks, 0, d, starts[d] + result.offset[d] * step,
                   step, result.extents[d], walk)) {
      return nullptr;
    }
  }
  return makeCopy(site, walk);
}

//===----------------------------------------------------------------------===//
// pad, concat
//===----------------------------------------------------------------------===//

namespace {
/// A part of the result that is copied from one operand.
struct Part {
  size_t operand = 0;
  StridedCopy copy;
  int64_t count = 0;
};
} // namespace

/// The part of the result that comes from `operand`, whose global index d is
/// the result's minus shift[d].
static bool makePart(const CallSite &site, const Checks &checks, size_t operand,
                     const Dims &shift, Part &part) {
  const TensorInfo &from = site.operands[operand], &result = site.results[0];
  Walk to, walk;
  to.strides = rowMajorStrides(result.extents);
  Dims extents(result.rank());
  part.operand = operand;
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t begin = std::max(result.offset[d], shift[d]);
    int64_t end = std::min(result.offset[d] + result.extents[d],
                           shift[d] + from.global[d]);
    extents[d] = std::max<int64_t>(0, end - begin);
  }
  part.count = numElements(extents);
  if (part.count == 0) {
    return true;
  }
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t begin = std::max(result.offset[d], shift[d]);
    to.base += (begin - result.offset[d]) * to.strides[d];
    if (!addAffine(site, checks, operand, d, begin - shift[d], 1, extents[d],
                   walk)) {
      return false;
    }
  }
  part.copy = StridedCopy(byteWidth(result.type), extents, to, walk);
  return true;
}

static std::unique_ptr<PreparedKernel> preparePad(const CallSite &site,
                                                  std::string &error) {
  Checks checks(site, error);
  if (!takesOne(site, checks)) {
    return nullptr;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t rank = operand.rank();
  Dims low, high;
  double value = 0;
  if (!checks.resultRank(0, rank) ||
      !checks.getInts("lo", rank, -maxExtent, maxExtent, low) ||
      !checks.getInts("hi", rank, -maxExtent, maxExtent, high) ||
      !checks.getFloat("value", value)) {
    return nullptr;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (!checks.resultExtent(d, low[d] + operand.global[d] + high[d])) {
      return nullptr;
    }
  }
  Part part;
  if (!makePart(site, checks, 0, low, part)) {
    return nullptr;
  }
  DType type = result.type;
  int64_t count = result.count();
  return makeKernel([=](auto operands, auto results, void *) {
    if (part.count != count) {
      fill(type, results[0], count, value);
    }
    if (part.count != 0) {
      part.copy.run(results[0], operands[0]);
    }
  });
}

static std::unique_ptr<PreparedKernel> prepareConcat(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  if (!checks.counts(std::max<size_t>(1, site.operands.size()), 1) ||
      !sameTypes(site, checks)) {
    return nullptr;
  }
  const TensorInfo &result = site.results[0];
  int64_t axis = 0;
  if (!checks.getInt("axis", 0, int64_t(result.rank()) - 1, axis)) {
    return nullptr;
  }
  std::vector<Part> parts;
  Dims shift(result.rank(), 0);
  for (size_t i = 0; i < site.operands.size(); ++i) {
    const TensorInfo &operand = site.operands[i];
    if (!checks.operandRank(i, result.rank())) {
      return nullptr;
    }
    for (size_t d = 0; d < result.rank(); ++d) {
      if (d != size_t(axis) && !checks.resultExtent(d, operand.global[d])) {
        return nullptr;
      }
    }
    Part part;
    if (!makePart(site, checks, i, shift, part)) {
      return nullptr;
    }
    if (part.count != 0) {
      parts.push_back(part);
    }
    shift[axis] += operand.global[axis];
    if (shift[axis] > result.global[axis]) {
      break;
    }
  }
  if (!checks.resultExtent(axis, shift[axis])) {
    return nullptr;
  }
  return makeKernel([parts](auto operands, auto results, void *) {
    for (const Part &part : parts) {
      part.copy.run(results[0], operands[part.operand]);
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
      {"nn.broadcast", 1, Parts, queryNothing, prepareBroadcast},
      {"nn.concat", 1, Parts, queryNothing, prepareConcat},
      {"nn.pad", 1, Parts, queryNothing, preparePad},
      {"nn.reshape", 1, Whole, queryReshape, prepareReshape},
      {"nn.slice", 1, Parts, queryNothing, prepareSlice},
      {"nn.transpose", 1, Parts, queryTranspose, prepareTranspose},
  };
  return kernels;
}

} // namespace divisi::rt
