//===- Matmul.cpp - The reference matrix product --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are accumulated in what the result is computed as (f32 for f16 and
// bf16), k ascending from 0, whatever the blocking: a product does not depend
// on which rows and columns are local. Only products with few columns, where
// that order cannot be vectorized, use eight chains.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Contraction.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {

static constexpr int64_t blockRows = 4;
static constexpr int64_t blockColumns = 256;

/// A block of the result: `Rows` rows and up to blockColumns columns, held in
/// `sums` while k runs.
template <int64_t Rows, typename T, typename R>
static void multiplyBlock(const MatrixProduct &product, const T *a, const T *b,
                          R *c, int64_t columns) {
  const auto &[left, right, result] = product.matrices;
  using A = Computed<R>;
  A sums[Rows][blockColumns] = {};
  for (int64_t k = 0; k < product.k; ++k) {
    const T *__restrict row = b + k * right.outer;
    A scale[Rows];
    for (int64_t r = 0; r < Rows; ++r) {
      scale[r] = A(load(a[r * left.outer + k * left.inner]));
    }
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t r = 0; r < Rows; ++r) {
        sums[r][j] = wrapAdd(sums[r][j], wrapMul(scale[r], A(load(row[j]))));
      }
    }
  }
  for (int64_t r = 0; r < Rows; ++r) {
    std::transform(sums[r], sums[r] + columns, c + r * result.outer,
                   [](A sum) { return R(sum); });
  }
}

template <typename T, typename R>
static void multiplyWide(const MatrixProduct &product, const T *a, const T *b,
                         R *c) {
  const auto &[left, right, result] = product.matrices;
  for (int64_t j = 0; j < product.n; j += blockColumns) {
    int64_t columns = std::min(blockColumns, product.n - j);
    int64_t i = 0;
    for (; i + blockRows <= product.m; i += blockRows) {
      multiplyBlock<blockRows>(product, a + i * left.outer, b + j,
                               c + i * result.outer + j, columns);
    }
    for (; i < product.m; ++i) {
      multiplyBlock<1>(product, a + i * left.outer, b + j,
                       c + i * result.outer + j, columns);
    }
  }
}

/// Few columns: one inner product at a time.
template <typename T, typename R>
static void multiplyNarrow(const MatrixProduct &product, const T *a, const T *b,
                           R *c) {
  using A = Computed<R>;
  constexpr int64_t lanes = 8;
  const auto &[left, right, result] = product.matrices;
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < product.n; ++j) {
      const T *x = a + i * left.outer, *y = b + j * right.inner;
      A sums[lanes] = {};
      if (left.inner == 1 && right.outer == 1) {
        int64_t k = 0;
        for (; k + lanes <= product.k; k += lanes) {
          if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int)) {
            // Of short integers, GCC 12 makes wrong vector code of this loop.
            asm volatile("");
          }
          for (int64_t l = 0; l < lanes; ++l) {
            sums[l] =
                wrapAdd(sums[l], wrapMul(A(load(x[k + l])), A(load(y[k + l]))));
          }
        }
        for (; k < product.k; ++k) {
          sums[0] = wrapAdd(sums[0], wrapMul(A(load(x[k])), A(load(y[k]))));
        }
      } else {
        for (int64_t k = 0; k < product.k; ++k) {
          sums[k % lanes] =
              wrapAdd(sums[k % lanes], wrapMul(A(load(x[k * left.inner])),
                                               A(load(y[k * right.outer]))));
        }
      }
      for (int64_t l = 1; l < lanes; ++l) {
        sums[0] = wrapAdd(sums[0], sums[l]);
      }
      c[i * result.outer + j * result.inner] = R(sums[0]);
    }
  }
}

static constexpr int64_t narrow = 8;

static MatrixProduct planReference(const Contraction &contraction) {
  UnitStride inner =
      contraction.n.count() < narrow ? UnitStride::None : UnitStride::Inner;
  return planProduct(contraction, {UnitStride::None, inner, inner});
}

static KernelQuery queryMatmul(const CallSite &site) {
  std::string ignored;
  Contraction contraction;
  if (!analyzeContraction(site, Checks(site, ignored), contraction)) {
    return {};
  }
  return {planReference(contraction).workspaceBytes, {}, {}};
}

template <typename T, typename R>
static std::unique_ptr<PreparedKernel>
makeMatmul(const MatrixProduct &product) {
  const auto &[left, right, result] = product.matrices;
  Nest<3> batch(product.batch, {result.batch, left.batch, right.batch});
  return makeKernel([=](auto operands, auto results, void *workspace) {
    const auto &[left, right, result] = product.matrices;
    const void *tensors[] = {operands[product.swapped],
                             operands[!product.swapped], results[0]};
    for (size_t t : {LeftMatrix, RightMatrix}) {
      if (product.matrices[t].packed) {
        product.matrices[t].copy.run(
            locate(product.matrices[t], nullptr, workspace), tensors[t]);
      }
    }
    auto *a = static_cast<const T *>(locate(left, tensors[0], workspace));
    auto *b = static_cast<const T *>(locate(right, tensors[1], workspace));
    auto *c = static_cast<R *>(locate(result, tensors[2], workspace));
    batch.forEach(0, [&](const auto &at) {
      if (product.n < narrow) {
        multiplyNarrow(product, a + at[1], b + at[2], c + at[0]);
      } else {
        multiplyWide(product, a + at[1], b + at[2], c + at[0]);
      }
    });
    if (result.packed) {
      result.copy.run(results[0], c);
    }
  });
}

static std::unique_ptr<PreparedKernel> prepareMatmul(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  Contraction contraction;
  if (!analyzeContraction(site, checks, contraction)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatchSums<Numbers>(site, [&](auto zero, auto sum) {
    kernel =
        makeMatmul<decltype(zero), decltype(sum)>(planReference(contraction));
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

std::span<const Kernel> contractionKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.matmul", 1, Whole, queryMatmul, prepareMatmul},
  };
  return kernels;
}

} // namespace divisi::rt
