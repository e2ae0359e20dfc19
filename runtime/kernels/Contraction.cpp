//===- Contraction.cpp - A labelled contraction as matrix products --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Contraction.h"

#include "divisi/Support/Labels.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// "bmk,kn->bmn", taken apart.
struct Labels {
  std::array<std::string_view, 3> of; ///< Operands 0 and 1, result.
};

} // namespace

std::optional<int64_t> LabelGroup::stride(size_t tensor) const {
  int64_t first = 1, next = 0;
  bool any = false;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) {
      continue;
    }
    if (!any) {
      first = strides[tensor][i];
    } else if (strides[tensor][i] != next) {
      return std::nullopt;
    }
    next = strides[tensor][i] * extents[i];
    any = true;
  }
  return first;
}

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool parseLabels(const Checks &checks, const std::string &text,
                        Labels &labels) {
  std::vector<std::string_view> parts = splitLabels(text);
  if (parts.size() != 3) {
    return checks.fail("attribute 'labels' is '" + text +
                       "', expected something like 'mk,kn->mn'");
  }
  labels.of = {parts[0], parts[1], parts[2]};
  for (size_t t = 0; t < 3; ++t) {
    for (size_t i = 0; i < labels.of[t].size(); ++i) {
      char c = labels.of[t][i];
      if (!isLetter(c) || labels.of[t].find(c, i + 1) != std::string::npos) {
        return checks.fail("attribute 'labels' is '" + text +
                           "', expected letters, each once per tensor");
      }
      int others = 0;
      for (size_t u = 0; u < 3; ++u) {
        others += u != t && labels.of[u].find(c) != std::string::npos;
      }
      if (others == 0) {
        return checks.fail("label '" + std::string(1, c) +
                           "' occurs in one tensor only, expected two");
      }
    }
  }
  return checks.operandRank(0, labels.of[0].size()) &&
         checks.operandRank(1, labels.of[1].size()) &&
         checks.resultRank(0, labels.of[2].size());
}

/// Adds one label to a group; `first` and `extent` are its global range.
static bool addLabel(const CallSite &site, const Checks &checks,
                     const Labels &labels, char label, int64_t first,
                     int64_t extent, LabelGroup &group,
                     std::array<int64_t, 3> &bases) {
  group.extents.push_back(extent);
  for (size_t t = 0; t < 2; ++t) {
    size_t dim = labels.of[t].find(label);
    Walk walk;
    walk.strides = {0};
    if (dim != std::string::npos) {
      walk.strides.clear();
      if (!addAffine(site, checks, t, dim, first, 1, extent, walk)) {
        return false;
      }
    }
    bases[t] += walk.base;
    group.strides[t].push_back(walk.strides[0]);
  }
  size_t dim = labels.of[2].find(label);
  int64_t stride = 0;
  if (dim != std::string::npos) {
    stride = rowMajorStrides(site.results[0].extents)[dim];
  }
  group.strides[2].push_back(stride);
  return true;
}

static bool addResultLabels(const CallSite &site, const Checks &checks,
                            const Labels &labels, Contraction &contraction) {
  const TensorInfo &result = site.results[0];
  for (size_t d = 0; d < result.rank(); ++d) {
    char label = labels.of[2][d];
    size_t inLeft = labels.of[0].find(label);
    size_t inRight = labels.of[1].find(label);
    bool left = inLeft != std::string::npos;
    bool right = inRight != std::string::npos;
    if ((left && !checks.resultExtent(d, site.operands[0].global[inLeft])) ||
        (right && !checks.resultExtent(d, site.operands[1].global[inRight]))) {
      return false;
    }
    LabelGroup &group = left && right ? contraction.batch
                        : left        ? contraction.m
                                      : contraction.n;
    if (!addLabel(site, checks, labels, label, result.offset[d],
                  result.extents[d], group, contraction.bases)) {
      return false;
    }
    if (result.extents[d] != 1 && left != right) {
      contraction.swapped = left;
    }
  }
  return true;
}

/// The summed labels: both operands hold the same range of them.
static bool addSummedLabels(const CallSite &site, const Checks &checks,
                            const Labels &labels, Contraction &contraction) {
  const TensorInfo &a = site.operands[0], &b = site.operands[1];
  for (size_t d = 0; d < a.rank(); ++d) {
    char label = labels.of[0][d];
    if (labels.of[2].find(label) != std::string::npos) {
      continue;
    }
    size_t e = labels.of[1].find(label);
    if (a.global[d] != b.global[e] || a.offset[d] != b.offset[e] ||
        a.extents[d] != b.extents[e]) {
      return checks.fail("the operands hold different ranges of label '" +
                         std::string(1, label) + "'");
    }
    if (!addLabel(site, checks, labels, label, a.offset[d], a.extents[d],
                  contraction.k, contraction.bases)) {
      return false;
    }
  }
  return true;
}

void Contraction::exchange() {
  std::swap(m, n);
  std::swap(bases[0], bases[1]);
  for (LabelGroup *group : {&batch, &m, &n, &k}) {
    std::swap(group->strides[0], group->strides[1]);
  }
}

bool analyzeContraction(const CallSite &site, const Checks &checks,
                        Contraction &contraction) {
  const auto *text = site.attributes.find<std::string>("labels");
  Labels labels;
  if (!checks.counts(2, 1) || !checks.operandType(1, site.operands[0].type) ||
      !checks.sumType(0)) {
    return false;
  }
  contraction.widths = {byteWidth(site.operands[0].type),
                        byteWidth(site.operands[1].type),
                        byteWidth(site.results[0].type)};
  if (!text) {
    return checks.fail("needs the attribute 'labels'");
  }
  if (!parseLabels(checks, *text, labels) ||
      !addResultLabels(site, checks, labels, contraction) ||
      !addSummedLabels(site, checks, labels, contraction)) {
    return false;
  }
  if (contraction.swapped) {
    contraction.exchange();
  }
  return true;
}

static bool isUsable(std::optional<int64_t> outer, std::optional<int64_t> inner,
                     const LabelGroup &rows, const LabelGroup &columns,
                     UnitStride unit) {
  if (!outer || !inner) {
    return false;
  }
  bool innerUnit = *inner == 1 || columns.count() == 1;
  bool outerUnit = *outer == 1 || rows.count() == 1;
  return unit == UnitStride::None || innerUnit ||
         (unit == UnitStride::Either && outerUnit);
}

static Matrix planMatrix(const Contraction &contraction, size_t tensor,
                         const LabelGroup &rows, const LabelGroup &columns,
                         UnitStride unit) {
  int64_t width = contraction.widths[tensor];
  const LabelGroup &batch = contraction.batch;
  Matrix matrix;
  auto outer = rows.stride(tensor), inner = columns.stride(tensor);
  Walk tensorWalk{contraction.bases[tensor], batch.strides[tensor]};
  if (isUsable(outer, inner, rows, columns, unit)) {
    matrix.outer = *outer;
    matrix.inner = *inner;
    matrix.batch = tensorWalk;
    return matrix;
  }
  Dims extents;
  tensorWalk.strides.clear();
  for (const LabelGroup *group : {&batch, &rows, &columns}) {
    extents.insert(extents.end(), group->extents.begin(), group->extents.end());
    tensorWalk.strides.insert(tensorWalk.strides.end(),
                              group->strides[tensor].begin(),
                              group->strides[tensor].end());
  }
  Walk packedWalk{0, rowMajorStrides(extents)};
  matrix.packed = true;
  matrix.bytes = numElements(extents) * width;
  matrix.copy = tensor == ResultMatrix
                    ? StridedCopy(width, extents, tensorWalk, packedWalk)
                    : StridedCopy(width, extents, packedWalk, tensorWalk);
  matrix.outer = columns.count();
  packedWalk.strides.resize(batch.extents.size());
  matrix.batch = packedWalk;
  return matrix;
}

MatrixProduct planProduct(const Contraction &contraction,
                          const std::array<UnitStride, 3> &units) {
  MatrixProduct product;
  product.batch = contraction.batch.extents;
  product.m = contraction.m.count();
  product.n = contraction.n.count();
  product.k = contraction.k.count();
  product.swapped = contraction.swapped;
  const LabelGroup *rows[] = {&contraction.m, &contraction.k, &contraction.m};
  const LabelGroup *columns[] = {&contraction.k, &contraction.n,
                                 &contraction.n};
  for (size_t t = 0; t < 3; ++t) {
    Matrix &matrix = product.matrices[t];
    matrix = planMatrix(contraction, t, *rows[t], *columns[t], units[t]);
    matrix.workspaceOffset = product.workspaceBytes;
    product.workspaceBytes += (matrix.bytes + 63) / 64 * 64;
  }
  return product;
}

} // namespace divisi::rt
