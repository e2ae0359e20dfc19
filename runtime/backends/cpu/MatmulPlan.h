//===- MatmulPlan.h - What oneDNN does of a product -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels become batch, m, n and k (divisi/runtime/kernels/Contraction.h);
// oneDNN takes any strides for the batch, and rows or columns that are
// contiguous. A constant right matrix is brought once to the layout that oneDNN
// likes best; another one in each launch if its rows lie far apart, since rows
// at such distances share few sets of the caches, where oneDNN 3.2 reads them
// at half of its speed. Products are of f32, and of bf16 and f16 where the
// processor multiplies them (Widened.cpp has the others).
//
// Of a region that begins with a product, the primitive does what it can on the
// way (PostOps.h); the rest goes on with the result in place.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_MATMULPLAN_H
#define DIVISI_RUNTIME_BACKENDS_CPU_MATMULPLAN_H

#include "divisi/runtime/kernels/Contraction.h"
#include "runtime/backends/cpu/FirstOperator.h"
#include "runtime/backends/cpu/PackedWeights.h"
#include "runtime/backends/cpu/PostOps.h"
#include "runtime/backends/cpu/RegionTail.h"

#include <algorithm>
#include <array>

namespace divisi::rt::cpu {

/// How `matrix`, of so many rows and columns, lies in memory, behind the
/// dimensions of the batch of `product`; of elements of `type`.
MemoryDesc describeMatrix(const MatrixProduct &product, const Matrix &matrix,
                          int64_t rows, int64_t columns, dnnl_data_type_t type);

/// Leaves no room in the workspace of `product` for its right matrix, which is
/// known and copied once, when the call is prepared, into memory of its own.
void takeRightOut(MatrixProduct &product);

/// A product alone, or the first operator of a region.
struct MatmulPlan {
  /// One that has a result.
  explicit MatmulPlan(const CallSite &call);
  MatmulPlan(const MatmulPlan &) = delete;

  std::vector<int> numbers;         ///< Of the product's operands, in the call.
  std::vector<TensorInfo> operands; ///< Of the product.
  std::vector<Constant> constants;  ///< One for each of these.
  CallSite site;                    ///< The product.
  MatrixProduct product;            ///< Its matrices.
  std::array<MemoryDesc, 3> descs;  ///< How left, right and result lie.
  DimGroups groups; ///< The result's dimensions, as the primitive sees them.
  PrimitiveDesc primitive;          ///< What oneDNN runs.
  PostOps postOps;                  ///< What it does behind the product.
  std::unique_ptr<RegionTail> tail; ///< Null if the primitive does all.
  /// The right matrix is known and not read by the call itself.
  bool constantRight = false;
  bool sharesRight = false; ///< Other operators of the region read it.
  /// Brings another right matrix to the primitive's layout in each launch; null
  /// where the primitive takes it as it lies.
  PrimitiveDesc blocking;
  int threads = 1;

  /// Plans `call`, a product or a region that begins with one; false if oneDNN
  /// cannot do it.
  bool make(const CallSite &call);

  /// The right matrix as the primitive wants it.
  const_dnnl_memory_desc_t wantedRight() const {
    return constantRight || blocking
               ? dnnl_primitive_desc_query_md(primitive.get(),
                                              dnnl_query_weights_md, 0)
               : descs[RightMatrix].get();
  }
  /// Also where it is only copied: once, not in each launch.
  bool packsRight() const {
    return constantRight &&
           (product.matrices[RightMatrix].packed ||
            !dnnl_memory_desc_equal(descs[RightMatrix].get(), wantedRight()));
  }
  /// What PackedForms call the right matrix when it is packed, before its
  /// layout.
  std::string packedName() const;
  /// How it lies where it is given.
  GivenWeights givenRight() const {
    return {descs[RightMatrix].get(), product.matrices[RightMatrix].batch.base *
                                          byteWidth(operands[0].type)};
  }
  /// What is in memory beside the packed right matrix while it is made.
  int64_t packingBytes() const;
  /// The packed matrices come first in the workspace.
  int64_t blockedOffset() const {
    WorkspaceParts parts;
    parts.add(product.workspaceBytes);
    return parts.bytes();
  }
  /// Behind the right matrix in the primitive's layout.
  int64_t scratchpadOffset() const {
    WorkspaceParts parts;
    parts.add(blockedOffset());
    parts.add(blocking ? int64_t(dnnl_memory_desc_get_size(wantedRight())) : 0);
    return parts.bytes();
  }
  /// The tail's comes last.
  int64_t tailOffset() const {
    WorkspaceParts parts;
    parts.add(scratchpadOffset());
    parts.add(std::max(scratchpadBytes(primitive.get()),
                       blocking ? scratchpadBytes(blocking.get()) : 0));
    return parts.bytes();
  }

private:
  MatmulPlan(const CallSite &call, const FirstOperator &first);
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_MATMULPLAN_H
