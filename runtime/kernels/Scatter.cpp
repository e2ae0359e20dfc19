//===- Scatter.cpp - Writing rows that data chooses -----------------------===//
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

namespace divisi::rt {
namespace {

struct ScatterPlan {
  StridedCopy init; ///< The result's box of `init`; none if it is the same.
  Nest<3> writes;   ///< Over batch and indices: result, indices, updates.
  StridedCopy row;  ///< One row of the result's box, of an update.
  Nest<2> rowNest;  ///< The same: result, update.
  int64_t rowStride = 0; ///< Of the result, in elements.
  int64_t rows = 0, firstRow = 0, allRows = 0;
  IndexCheck check;
};

} // namespace

/// Dimension `from` of `operand` is read where dimension `to` of the result is.
static bool addAligned(const CallSite &site, const Checks &checks,
                       size_t operand, size_t from, size_t to, Walk &walk) {
  const TensorInfo &result = site.results[0];
  return checks.resultExtent(to, site.operands[operand].global[from]) &&
         addAffine(site, checks, operand, from, result.offset[to], 1,
                   result.extents[to], walk);
}

/// The loops over batch dimensions and indices, the latter all of them.
static bool makeWrites(const CallSite &site, const Checks &checks, size_t batch,
                       ScatterPlan &plan, Walk &updates) {
  const TensorInfo &indices = site.operands[1], &result = site.results[0];
  Dims extents, first(indices.rank(), 0);
  Dims strides = rowMajorStrides(result.extents);
  Walk to, from;
  for (size_t d = 0; d < batch; ++d) {
    extents.push_back(result.extents[d]);
    first[d] = result.offset[d];
    to.strides.push_back(strides[d]);
    if (!addAligned(site, checks, 1, d, d, from) ||
        !addAligned(site, checks, 2, d, d, updates)) {
      return false;
    }
  }
  for (size_t d = batch; d < indices.rank(); ++d) {
    extents.push_back(indices.global[d]);
    to.strides.push_back(0);
    if (!addAffine(site, checks, 1, d, 0, 1, indices.global[d], from) ||
        !addAffine(site, checks, 2, d, 0, 1, indices.global[d], updates)) {
      return false;
    }
  }
  plan.writes = Nest<3>(extents, {to, from, updates});
  plan.check = IndexCheck(site, 1, first, extents, result.global[batch]);
  return true;
}

static bool makeScatterPlan(const CallSite &site, const Checks &checks,
                            size_t batch, ScatterPlan &plan) {
  const TensorInfo &init = site.operands[0], &result = site.results[0];
  size_t indexRank = site.operands[1].rank(), rank = result.rank();
  if (!checks.resultRank(0, init.rank()) ||
      !checks.operandRank(2, indexRank + rank - batch - 1)) {
    return false;
  }
  Walk whole, updates, rowTo, rowFrom;
  for (size_t d = 0; d < rank; ++d) {
    if (!addAligned(site, checks, 0, d, d, whole)) {
      return false;
    }
  }
  Dims strides = rowMajorStrides(result.extents), rowExtents;
  for (size_t d = batch + 1; d < rank; ++d) {
    size_t from = indexRank + d - batch - 1;
    rowExtents.push_back(result.extents[d]);
    rowTo.strides.push_back(strides[d]);
    if (!addAligned(site, checks, 2, from, d, rowFrom)) {
      return false;
    }
  }
  // What addAligned found out about the row's begin belongs to every row.
  updates.base = rowFrom.base;
  rowFrom.base = 0;
  if (!makeWrites(site, checks, batch, plan, updates)) {
    return false;
  }
  int64_t width = byteWidth(result.type);
  plan.init = StridedCopy(width, result.extents, denseWalk(result), whole);
  plan.row = StridedCopy(width, rowExtents, rowTo, rowFrom);
  plan.rowNest = Nest<2>(rowExtents, {rowTo, rowFrom});
  plan.rowStride = strides[batch];
  plan.rows = result.extents[batch];
  plan.firstRow = result.offset[batch];
  plan.allRows = result.global[batch];
  return true;
}

/// Calls write(result element, update element) for every update whose row the
/// result's box holds, in row-major order.
template <typename Index, typename Write>
static void forEachWrite(const ScatterPlan &plan, const Index *indices,
                         Write &&write) {
  plan.writes.forEach(0, [&](const auto &at) {
    int64_t index = indices[at[1]];
    int64_t row = (index < 0 ? index + plan.allRows : index) - plan.firstRow;
    if (row >= 0 && row < plan.rows) {
      write(at[0] + row * plan.rowStride, at[2]);
    }
  });
}

namespace {
struct AddTo {
  template <typename A> static A combine(A a, A b) { return wrapAdd(a, b); }
};
struct MulTo {
  template <typename A> static A combine(A a, A b) { return wrapMul(a, b); }
};
struct MaxTo {
  template <typename A> static A combine(A a, A b) { return maxOf(a, b); }
};
struct MinTo {
  template <typename A> static A combine(A a, A b) { return minOf(a, b); }
};
} // namespace

/// The kernel that calls body(indices, result, updates) once the result is
/// `init`.
template <typename Body>
static std::unique_ptr<PreparedKernel>
makeScatter(DType indexType, const ScatterPlan &plan, Body body) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<Indices>(indexType, [&](auto zero) {
    using Index = decltype(zero);
    kernel = makeKernel([=](LaunchContext &context) {
      auto [init, second, updates] = std::array{
          context.operands[0], context.operands[1], context.operands[2]};
      const auto *indices = static_cast<const Index *>(second);
      plan.check.run(indices, context);
      if (context.results[0] != init) {
        plan.init.run(context.results[0], init);
      }
      body(indices, context.results[0], updates);
    });
  });
  return kernel;
}

static std::unique_ptr<PreparedKernel> makeSet(const CallSite &site,
                                               const ScatterPlan &plan) {
  int64_t width = byteWidth(site.results[0].type);
  return makeScatter(
      site.operands[1].type, plan,
      [=](const auto *indices, void *result, const void *updates) {
        forEachWrite(plan, indices, [&](int64_t to, int64_t from) {
          plan.row.run(static_cast<std::byte *>(result) + to * width,
                       static_cast<const std::byte *>(updates) + from * width);
        });
      });
}

template <typename F>
static std::unique_ptr<PreparedKernel> makeCombine(const CallSite &site,
                                                   const Checks &checks,
                                                   const ScatterPlan &plan) {
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Numbers>(site.results[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeScatter(
        site.operands[1].type, plan,
        [=](const auto *indices, void *result, const void *updates) {
          forEachWrite(plan, indices, [&](int64_t to, int64_t from) {
            T *out = static_cast<T *>(result) + to;
            const T *in = static_cast<const T *>(updates) + from;
            plan.rowNest.forEach(0, [&](const auto &at) {
              out[at[0]] = T(F::combine(load(out[at[0]]), load(in[at[1]])));
            });
          });
        });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.results[0].type);
}

static std::unique_ptr<PreparedKernel> makeOfKind(size_t kind,
                                                  const CallSite &site,
                                                  const Checks &checks,
                                                  const ScatterPlan &plan) {
  switch (kind) {
  case 0:
    return makeSet(site, plan);
  case 1:
    return makeCombine<AddTo>(site, checks, plan);
  case 2:
    return makeCombine<MulTo>(site, checks, plan);
  case 3:
    return makeCombine<MaxTo>(site, checks, plan);
  default:
    return makeCombine<MinTo>(site, checks, plan);
  }
}

static std::unique_ptr<PreparedKernel> prepareScatter(const CallSite &site,
                                                      std::string &error) {
  static constexpr std::string_view kinds[] = {"set", "add", "mul", "max",
                                               "min"};
  Checks checks(site, error);
  int64_t batch = 0;
  size_t kind = 0;
  ScatterPlan plan;
  if (!checks.counts(3, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.operandType(2, site.operands[0].type) ||
      !checks.getChoice("kind", kinds, kind) ||
      !checks.getInt("batch_dims", 0,
                     std::min(int64_t(site.operands[0].rank()) - 1,
                              int64_t(site.operands[1].rank())),
                     batch) ||
      !makeScatterPlan(site, checks, batch, plan)) {
    return nullptr;
  }
  if (std::unique_ptr<PreparedKernel> kernel =
          makeOfKind(kind, site, checks, plan)) {
    return kernel;
  }
  return error.empty() ? noKernelFor(checks, site.operands[1].type) : nullptr;
}

namespace {

struct InsertPlan {
  StridedCopy whole;              ///< The result's box of the tensor.
  StridedCopy row;                ///< One index along the axis, of the slice.
  int64_t rows = 0, firstRow = 0; ///< Of the result's box, along the axis.
  int64_t sliceRows = 0, places = 0;
  int64_t toStride = 0, fromStride = 0; ///< From row to row, in bytes.
  IndexCheck check;

  void run(int64_t offset, std::byte *to, const std::byte *from) const {
    int64_t begin = (offset < 0 ? offset + places : offset) - firstRow;
    for (int64_t i = std::max<int64_t>(0, -begin);
         i < std::min(sliceRows, rows - begin); ++i) {
      row.run(to + (begin + i) * toStride, from + i * fromStride);
    }
  }
};

} // namespace

static bool makeInsertPlan(const CallSite &site, const Checks &checks,
                           size_t axis, InsertPlan &plan) {
  const TensorInfo &result = site.results[0], &slice = site.operands[1];
  plan.sliceRows = slice.global[axis];
  plan.places = result.global[axis] - plan.sliceRows + 1;
  if (plan.places < 1) {
    return checks.fail("the slice is longer than the tensor");
  }
  Dims strides = rowMajorStrides(result.extents), rowExtents;
  Walk whole, rowTo, rowFrom, along;
  for (size_t d = 0; d < result.rank(); ++d) {
    if (!addAligned(site, checks, 0, d, d, whole)) {
      return false;
    }
    if (d == axis) {
      if (!addAffine(site, checks, 1, d, 0, 1, plan.sliceRows, along)) {
        return false;
      }
      continue;
    }
    rowExtents.push_back(result.extents[d]);
    rowTo.strides.push_back(strides[d]);
    if (!addAligned(site, checks, 1, d, d, rowFrom)) {
      return false;
    }
  }
  rowFrom.base += along.base;
  int64_t width = byteWidth(result.type);
  plan.whole = StridedCopy(width, result.extents, denseWalk(result), whole);
  plan.row = StridedCopy(width, rowExtents, rowTo, rowFrom);
  plan.rows = result.extents[axis];
  plan.firstRow = result.offset[axis];
  plan.toStride = strides[axis] * width;
  plan.fromStride = along.strides[0] * width;
  plan.check = IndexCheck(site, 2, {}, {}, plan.places);
  return true;
}

/// A bad offset inserts nothing.
static std::unique_ptr<PreparedKernel> prepareInsert(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  int64_t axis = 0;
  InsertPlan plan;
  if (!checks.counts(3, 1) || !checks.resultType(0, site.operands[0].type) ||
      !checks.operandType(1, site.operands[0].type) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !checks.operandRank(1, site.operands[0].rank()) ||
      !checks.operandRank(2, 0) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis) ||
      !makeInsertPlan(site, checks, axis, plan)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Indices>(site.operands[2].type, [&](auto zero) {
    using Index = decltype(zero);
    kernel = makeKernel([=](LaunchContext &context) {
      const auto *offset = static_cast<const Index *>(context.operands[2]);
      plan.check.run(offset, context);
      if (context.results[0] != context.operands[0]) {
        plan.whole.run(context.results[0], context.operands[0]);
      }
      if (*offset >= -plan.places && *offset < plan.places) {
        plan.run(*offset, static_cast<std::byte *>(context.results[0]),
                 static_cast<const std::byte *>(context.operands[1]));
      }
    });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[2].type);
}

/// Only over the first operand.
static KernelQuery queryScatter(const CallSite &site) {
  KernelQuery query = queryInPlace(site);
  std::erase_if(query.inPlace,
                [](const auto &pair) { return pair.first != 0; });
  return query;
}

std::span<const Kernel> scatterKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.insert", 1, Parts, queryScatter, prepareInsert},
      {"nn.scatter", 1, Parts, queryScatter, prepareScatter},
  };
  return kernels;
}

} // namespace divisi::rt
