//===- Index.cpp - Operators that compute indices -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Copy.h"
#include "divisi/runtime/kernels/IndexCheck.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>
#include <cstring>

namespace divisi::rt {

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

static std::unique_ptr<PreparedKernel> prepareIota(const CallSite &site,
                                                   std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0;
  if (!checks.counts(0, 1) ||
      !checks.getInt("axis", 0, int64_t(site.results[0].rank()) - 1, axis)) {
    return nullptr;
  }
  const TensorInfo &result = site.results[0];
  int64_t stride = rowMajorStrides(result.extents)[axis];
  int64_t extent = result.extents[axis], first = result.offset[axis];
  int64_t count = result.count();
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(result.type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel([=](auto, auto results, void *) {
      T *out = static_cast<T *>(results[0]);
      for (int64_t i = 0; i < count; i += stride) {
        std::fill_n(out + i, stride,
                    convertElement<T>(first + i / stride % extent));
      }
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, result.type);
}

//===----------------------------------------------------------------------===//
// gather, take_along
//===----------------------------------------------------------------------===//

namespace {
/// Turns a value of an index tensor into a row of the box of the data.
struct RowLookup {
  int64_t global = 0, offset = 0, extent = 0;

  /// The row, or -1 for one that the box does not hold. An index counts from
  /// the end of the whole tensor if it is negative.
  int64_t operator()(int64_t index) const {
    int64_t row = (index < 0 ? index + global : index) - offset;
    return row >= 0 && row < extent ? row : -1;
  }
};
} // namespace

static RowLookup makeLookup(const TensorInfo &data, size_t axis) {
  return {data.global[axis], data.offset[axis], data.extents[axis]};
}

/// The walk along the data's rows is left out of both nests.
struct GatherPlan {
  /// Over data[:axis] and the index dimensions: result, data, indices.
  Nest<3> rows;
  /// Over data[axis+1:].
  StridedCopy row;
  int64_t rowCount = 0, rowStride = 0;
  RowLookup lookup;
  IndexCheck check;
};

/// The dimensions before the axis, which the result shares.
static bool walkLeading(const CallSite &site, const Checks &checks, size_t axis,
                        size_t batchDims, Walk &data, Walk &indices) {
  const TensorInfo &result = site.results[0];
  for (size_t d = 0; d < axis; ++d) {
    if (!checks.resultExtent(d, site.operands[0].global[d]) ||
        !addAffine(site, checks, 0, d, result.offset[d], 1, result.extents[d],
                   data)) {
      return false;
    }
    if (d >= batchDims) {
      indices.strides.push_back(0);
    } else if (!checks.resultExtent(d, site.operands[1].global[d]) ||
               !addAffine(site, checks, 1, d, result.offset[d], 1,
                          result.extents[d], indices)) {
      return false;
    }
  }
  return true;
}

static bool makeGatherPlan(const CallSite &site, const Checks &checks,
                           size_t axis, size_t batchDims, GatherPlan &plan) {
  const TensorInfo &table = site.operands[0], &result = site.results[0];
  size_t indexDims = site.operands[1].rank() - batchDims;
  if (!checks.resultRank(0, table.rank() - 1 + indexDims)) {
    return false;
  }
  Walk to = denseWalk(result), data, indices, rowTo, rowFrom;
  if (!walkLeading(site, checks, axis, batchDims, data, indices)) {
    return false;
  }
  for (size_t i = 0; i < indexDims; ++i) {
    size_t d = axis + i, from = batchDims + i;
    data.strides.push_back(0);
    if (!checks.resultExtent(d, site.operands[1].global[from]) ||
        !addAffine(site, checks, 1, from, result.offset[d], 1,
                   result.extents[d], indices)) {
      return false;
    }
  }
  Dims first(result.offset.begin(), result.offset.begin() + batchDims);
  Dims read(result.extents.begin(), result.extents.begin() + batchDims);
  first.insert(first.end(), result.offset.begin() + axis,
               result.offset.begin() + axis + indexDims);
  read.insert(read.end(), result.extents.begin() + axis,
              result.extents.begin() + axis + indexDims);
  plan.check = IndexCheck(site, 1, first, read, table.global[axis]);
  Dims rowExtents;
  for (size_t from = axis + 1; from < table.rank(); ++from) {
    size_t d = from - 1 + indexDims;
    rowExtents.push_back(result.extents[d]);
    rowTo.strides.push_back(to.strides[d]);
    if (!checks.resultExtent(d, table.global[from]) ||
        !addAffine(site, checks, 0, from, result.offset[d], 1,
                   result.extents[d], rowFrom)) {
      return false;
    }
  }
  // What addAffine found out about the row's begin belongs to every row.
  data.base += rowFrom.base;
  rowFrom.base = 0;
  Dims outer(result.extents.begin(), result.extents.begin() + axis + indexDims);
  to.strides.resize(outer.size());
  plan.rows = Nest<3>(outer, {to, data, indices});
  plan.row = StridedCopy(byteWidth(result.type), rowExtents, rowTo, rowFrom);
  plan.rowCount = numElements(rowExtents);
  plan.rowStride = rowMajorStrides(table.extents)[axis];
  plan.lookup = makeLookup(table, axis);
  return true;
}

/// Lets the processor fetch what a later copy reads: the rows of a large table
/// lie anywhere, and a copy waits for each.
static void prefetchRow(const std::byte *row, int64_t bytes) {
  constexpr int64_t line = 64, mostBytes = 512;
  for (int64_t at = 0; at < std::min(bytes, mostBytes); at += line) {
    __builtin_prefetch(row + at);
  }
}

template <typename Index>
static void runGather(const GatherPlan &plan, int64_t width, std::byte *to,
                      const std::byte *data, const Index *indices) {
  constexpr int64_t ahead = 8;
  int64_t count = plan.rows.rowExtent(), bytes = plan.rowCount * width;
  plan.rows.forEachRow([&](const auto &at) {
    /// Where the data for index `i` of this row begin; null: nowhere.
    auto find = [&](int64_t i) -> const std::byte * {
      int64_t row = plan.lookup(indices[at[2] + i * plan.rows.rowStride(2)]);
      int64_t from = at[1] + i * plan.rows.rowStride(1) + row * plan.rowStride;
      return row < 0 ? nullptr : data + from * width;
    };
    for (int64_t i = 0; i < count; ++i) {
      std::byte *out = to + (at[0] + i * plan.rows.rowStride(0)) * width;
      if (i + ahead < count) {
        if (const std::byte *next = find(i + ahead)) {
          prefetchRow(next, bytes);
        }
      }
      if (const std::byte *from = find(i)) {
        plan.row.run(out, from);
      } else {
        std::memset(out, 0, bytes);
      }
    }
  });
}

/// Rows outside of this box of the table are zeros: the sum (or the
/// disjunction) over all boxes is the gather. So are rows outside of the table,
/// which the check tells.
static std::unique_ptr<PreparedKernel> prepareGather(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0, batchDims = 0;
  if (!checks.counts(2, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis) ||
      !checks.getInt("batch_dims", 0,
                     std::min(axis, int64_t(site.operands[1].rank())),
                     batchDims)) {
    return nullptr;
  }
  GatherPlan plan;
  if (!makeGatherPlan(site, checks, axis, batchDims, plan)) {
    return nullptr;
  }
  int64_t width = byteWidth(site.results[0].type);
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Indices>(site.operands[1].type, [&](auto zero) {
    using Index = decltype(zero);
    kernel = makeKernel([=](LaunchContext &context) {
      const auto *indices = static_cast<const Index *>(context.operands[1]);
      plan.check.run(indices, context);
      runGather(plan, width, static_cast<std::byte *>(context.results[0]),
                static_cast<const std::byte *>(context.operands[0]), indices);
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[1].type);
}

template <typename T, typename Index>
static void runTakeAlong(const Nest<3> &nest, const RowLookup &lookup,
                         int64_t rowStride, T *to, const T *data,
                         const Index *indices) {
  nest.forEachRow([&](const auto &at) {
    for (int64_t i = 0; i < nest.rowExtent(); ++i) {
      int64_t row = lookup(indices[at[2] + i * nest.rowStride(2)]);
      int64_t from = at[1] + i * nest.rowStride(1) + row * rowStride;
      to[at[0] + i * nest.rowStride(0)] = row < 0 ? T() : data[from];
    }
  });
}

template <typename T>
static std::unique_ptr<PreparedKernel>
makeTakeAlong(DType indexType, const Nest<3> &nest, const RowLookup &lookup,
              int64_t rowStride, const IndexCheck &check) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<Indices>(indexType, [&](auto zero) {
    using Index = decltype(zero);
    kernel = makeKernel([=](LaunchContext &context) {
      const auto *indices = static_cast<const Index *>(context.operands[1]);
      check.run(indices, context);
      runTakeAlong(nest, lookup, rowStride,
                   static_cast<T *>(context.results[0]),
                   static_cast<const T *>(context.operands[0]), indices);
    });
  });
  return kernel;
}

static std::unique_ptr<PreparedKernel> prepareTakeAlong(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0;
  if (!checks.counts(2, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.operandRank(1, site.operands[0].rank()) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis)) {
    return nullptr;
  }
  const TensorInfo &table = site.operands[0], &result = site.results[0];
  Walk data, indices;
  for (size_t d = 0; d < result.rank(); ++d) {
    int64_t first = result.offset[d], extent = result.extents[d];
    if (!checks.resultExtent(d, site.operands[1].global[d]) ||
        !addAffine(site, checks, 1, d, first, 1, extent, indices)) {
      return nullptr;
    }
    if (d == size_t(axis)) {
      data.strides.push_back(0);
    } else if (!checks.resultExtent(d, table.global[d]) ||
               !addAffine(site, checks, 0, d, first, 1, extent, data)) {
      return nullptr;
    }
  }
  Nest<3> nest(result.extents, {denseWalk(result), data, indices});
  RowLookup lookup = makeLookup(table, axis);
  int64_t rowStride = rowMajorStrides(table.extents)[axis];
  DType indexType = site.operands[1].type;
  IndexCheck check(site, 1, result.offset, result.extents, table.global[axis]);
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<AllTypes>(result.type, [&](auto zero) {
    kernel = makeTakeAlong<decltype(zero)>(indexType, nest, lookup, rowStride,
                                           check);
  });
  if (!known) {
    return noKernelFor(checks, result.type);
  }
  return kernel ? std::move(kernel) : noKernelFor(checks, indexType);
}

//===----------------------------------------------------------------------===//
// resample
//===----------------------------------------------------------------------===//

namespace {
struct ResamplePlan {
  Nest<2> lines; ///< All dimensions but the axis.
  int64_t extent = 0, stepTo = 0, stepFrom = 0; ///< The axis.
  int64_t taps = 0;
  Dims rows; ///< Per result index of the box and tap, a row of the box.
  std::vector<double> weights;
};
} // namespace

static bool makeResamplePlan(const CallSite &site, const Checks &checks,
                             size_t axis, ResamplePlan &plan) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  size_t size = size_t(result.global[axis]) * plan.taps;
  Dims indices;
  const auto *weights = site.attributes.find<std::vector<double>>("weights");
  if (!checks.getInts("indices", size, 0, operand.global[axis] - 1, indices)) {
    return false;
  }
  if (!weights || weights->size() != size) {
    return checks.fail("needs the attribute 'weights', a list of " +
                       std::to_string(size) + " floats");
  }
  size_t begin = result.offset[axis] * plan.taps;
  size_t end = begin + result.extents[axis] * plan.taps;
  for (size_t i = begin; i < end; ++i) {
    if (!checks.covers(0, axis, indices[i], indices[i] + 1)) {
      return false;
    }
    plan.rows.push_back(indices[i] - operand.offset[axis]);
    plan.weights.push_back((*weights)[i]);
  }
  Walk to = denseWalk(result), from;
  Dims extents = result.extents;
  for (size_t d = 0; d < result.rank(); ++d) {
    if (d == axis) {
      from.strides.push_back(0);
    } else if (!checks.resultExtent(d, operand.global[d]) ||
               !addAffine(site, checks, 0, d, result.offset[d], 1,
                          result.extents[d], from)) {
      return false;
    }
  }
  plan.extent = extents[axis];
  plan.stepTo = to.strides[axis];
  plan.stepFrom = rowMajorStrides(operand.extents)[axis];
  extents[axis] = 1;
  plan.lines = Nest<2>(extents, {to, from});
  return true;
}

/// Sums in f64 or the field, except that a single tap of weight 1 moves the
/// element.
template <typename T>
static T resampleOne(const ResamplePlan &plan, int64_t i, const T *from) {
  const int64_t *rows = &plan.rows[i * plan.taps];
  const double *weights = &plan.weights[i * plan.taps];
  if (plan.taps == 1 && weights[0] == 1) {
    return from[rows[0] * plan.stepFrom];
  }
  using Sum = std::conditional_t<isField<T>, FieldElement, double>;
  Sum sum = 0;
  for (int64_t t = 0; t < plan.taps; ++t) {
    sum += weights[t] * Sum(load(from[rows[t] * plan.stepFrom]));
  }
  return convertElement<T>(sum);
}

static std::unique_ptr<PreparedKernel> prepareResample(const CallSite &site,
                                                       std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0;
  ResamplePlan plan;
  if (!checks.counts(1, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis) ||
      !checks.getInt("taps", 1, maxStep, plan.taps) ||
      !makeResamplePlan(site, checks, axis, plan)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(site.results[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeKernel(
        [plan = std::move(plan)](auto operands, auto results, void *) {
          plan.lines.forEachRow([&](const auto &at) {
            T *to = static_cast<T *>(results[0]) + at[0];
            const T *from = static_cast<const T *>(operands[0]) + at[1];
            for (int64_t i = 0; i < plan.extent; ++i) {
              for (int64_t j = 0; j < plan.lines.rowExtent(); ++j) {
                to[i * plan.stepTo + j * plan.lines.rowStride(0)] =
                    resampleOne(plan, i, from + j * plan.lines.rowStride(1));
              }
            }
          });
        });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.results[0].type);
}

std::span<const Kernel> indexKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.gather", 1, Parts, queryNothing, prepareGather},
      {"nn.iota", 1, Whole, queryNothing, prepareIota},
      {"nn.resample", 1, Parts, queryNothing, prepareResample},
      {"nn.take_along", 1, Whole, queryNothing, prepareTakeAlong},
  };
  return kernels;
}

} // namespace divisi::rt
