//===- StridedProduct.cpp - Contractions for libraries of products --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/code/StridedProduct.h"

#include "divisi/Support/Labels.h"

#include <functional>
#include <utility>

namespace divisi::rt {
namespace {

/// The labels of one group that the library walks, as one.
struct Walked {
  int64_t extent = 1;
  std::array<int64_t, 3> strides = {};
};

} // namespace

/// Takes as many of the innermost labels of `group` as each tensor walks with
/// one stride; the others become loops.
static Walked walkGroup(const LabelGroup &group,
                        std::vector<StridedProduct::Loop> &loops) {
  Walked walked;
  bool isEmpty = true, isDone = false;
  for (size_t i = group.extents.size(); i-- > 0;) {
    int64_t extent = group.extents[i];
    if (extent == 1) {
      continue;
    }
    std::array<int64_t, 3> strides = {};
    bool fits = !isDone;
    for (size_t t = 0; t < 3; ++t) {
      strides[t] = group.strides[t][i];
      fits &= isEmpty || strides[t] == walked.strides[t] * walked.extent;
    }
    if (fits) {
      walked.strides = isEmpty ? strides : walked.strides;
      walked.extent *= extent;
      isEmpty = false;
    } else {
      isDone = true;
      loops.insert(loops.begin(), {extent, strides});
    }
  }
  return walked;
}

/// Of so many rows and columns, that many elements apart; false if neither lie
/// side by side.
static bool describe(int64_t rows, int64_t rowStride, int64_t columns,
                     int64_t columnStride, StridedProduct::Matrix &matrix) {
  // The stride of an extent of 1 is free.
  if (columns == 1 || columnStride == 1) {
    matrix.leading = rows == 1 ? columns : rowStride;
    return matrix.leading >= columns;
  }
  matrix.columnsFirst = true;
  matrix.leading = columnStride;
  return (rows == 1 || rowStride == 1) && matrix.leading >= rows;
}

/// Lets the left matrix be the one with the result's last label that one
/// operand alone has, counted by global extents: the same for all ranks.
static bool swapAsGlobal(const CallSite &site, Contraction &contraction,
                         Dims &columnDims) {
  std::vector<std::string_view> labels =
      splitLabels(*site.attributes.find<std::string>("labels"));
  auto isIn = [&](size_t d, size_t operand) {
    return labels[operand].find(labels[2][d]) != std::string_view::npos;
  };
  const TensorInfo &result = site.results[0];
  bool swapped = false;
  for (size_t d = 0; d < result.rank(); ++d) {
    if (result.global[d] != 1 && isIn(d, 0) != isIn(d, 1)) {
      swapped = isIn(d, 0);
    }
  }
  for (size_t d = 0; d < result.rank(); ++d) {
    if (isIn(d, 0) != isIn(d, 1) && isIn(d, 0) == swapped) {
      columnDims.push_back(static_cast<int64_t>(d));
    }
  }
  if (swapped != contraction.swapped) {
    contraction.exchange();
  }
  return swapped;
}

std::optional<StridedProduct> StridedProduct::of(const CallSite &site) {
  std::string ignored;
  Contraction contraction;
  if (!analyzeContraction(site, Checks(site, ignored), contraction)) {
    return std::nullopt;
  }
  StridedProduct product;
  product.swapped = swapAsGlobal(site, contraction, product.columnDims);
  Walked batch = walkGroup(contraction.batch, product.loops);
  Walked m = walkGroup(contraction.m, product.loops);
  Walked n = walkGroup(contraction.n, product.loops);
  Walked k = walkGroup(contraction.k, product.sums);
  product.batch = batch.extent;
  product.m = m.extent;
  product.n = n.extent;
  product.k = k.extent;
  const Walked *rows[] = {&m, &k, &m}, *columns[] = {&k, &n, &n};
  for (size_t t = 0; t < 3; ++t) {
    Matrix &matrix = product.matrices[t];
    matrix.base = contraction.bases[t];
    matrix.batchStride = batch.strides[t];
    if (!describe(rows[t]->extent, rows[t]->strides[t], columns[t]->extent,
                  columns[t]->strides[t], matrix)) {
      return std::nullopt;
    }
  }
  return product.matrices[ResultMatrix].columnsFirst
             ? std::nullopt
             : std::optional(std::move(product));
}

int64_t StridedProduct::calls() const {
  int64_t calls = 1;
  for (const std::vector<Loop> *all : {&loops, &sums}) {
    for (const Loop &loop : *all) {
      calls *= loop.extent;
    }
  }
  return calls;
}

/// Calls `body` with the number of each iteration and where tensors begin.
static void walk(const std::vector<StridedProduct::Loop> &loops,
                 const std::array<int64_t, 3> &bases, auto body) {
  int64_t count = 1;
  for (const StridedProduct::Loop &loop : loops) {
    count *= loop.extent;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::array<int64_t, 3> begins = bases;
    int64_t rest = i;
    for (size_t l = loops.size(); l-- > 0;) {
      for (size_t t = 0; t < 3; ++t) {
        begins[t] += rest % loops[l].extent * loops[l].strides[t];
      }
      rest /= loops[l].extent;
    }
    body(begins, i == 0, i + 1 == count);
  }
}

void StridedProduct::forEach(
    const std::function<void(const std::array<int64_t, 3> &, bool, bool)> &call)
    const {
  std::array<int64_t, 3> bases;
  for (size_t t = 0; t < 3; ++t) {
    bases[t] = matrices[t].base;
  }
  walk(loops, bases, [&](const auto &part, bool, bool) {
    walk(sums, part, [&](const auto &begins, bool isFirst, bool isLast) {
      call(begins, isFirst, isLast);
    });
  });
}

} // namespace divisi::rt
