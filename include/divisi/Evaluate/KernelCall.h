//===- KernelCall.h - Operators as a kernel sees them -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel sees an operator as plain data: a name, attributes, and for every
// operand and result the box that a rank holds. These functions make that data
// from IR, for the compiler's own calls of the reference kernels.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EVALUATE_KERNELCALL_H
#define DIVISI_EVALUATE_KERNELCALL_H

#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/Kernel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// The attributes that belong to the operator itself: those whose names have no
/// dialect's prefix, which are the compiler's notes.
mlir::DictionaryAttr kernelConfig(mlir::Operation *op);

/// A box of the size of `type`'s buffer at the origin of its global tensor.
/// Nothing if a kernel cannot see the element type.
std::optional<rt::TensorInfo> kernelTensor(mlir::RankedTensorType type);

/// The operators of a block as parts of one call, whose operands are the
/// block's arguments and whose results its terminator names; boxes as
/// `kernelTensor` has them. Nothing if a kernel cannot see an element type.
std::optional<rt::Region> kernelRegion(mlir::Block &block);

/// What the reference kernel `callee` ("nn.add") says about a call on tensors
/// of these (local) types with these attributes, every operand and result being
/// as large as its buffer: what holds then holds for each rank's part. Nothing
/// if there is no such kernel, or if it does not take such a call.
std::optional<rt::KernelQuery> queryKernel(llvm::StringRef callee,
                                           mlir::DictionaryAttr config,
                                           mlir::TypeRange operands,
                                           mlir::TypeRange results);

/// The operand of which a call with `numResults` results, about which the
/// kernel says `query`, makes its result a view: then there is no call, and it
/// takes no time. Nothing if there is one.
std::optional<unsigned> viewedOperand(const rt::KernelQuery &query,
                                      size_t numResults);

/// Whether `value` is no view, or one whose first byte is that of the tensor
/// that is none: then a result may be written over it, if over that tensor.
bool beginsItsBuffer(mlir::Value value);

/// An operator of which one asks, for shards of any size, whether it is a view.
class ViewQuery {
public:
  /// Of `op`, with global or local types: their extents do not matter.
  explicit ViewQuery(mlir::Operation *op);

  /// viewedOperand of a call whose buffers have these local extents, one list
  /// per operand and per result. Also nothing where there is no kernel.
  std::optional<unsigned>
  viewedOperand(llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> operands,
                llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> results) const;

private:
  std::string callee_;
  rt::Attributes attributes_;
  /// Whole tensors; nothing if a kernel cannot see some element type.
  std::optional<std::vector<rt::TensorInfo>> operands_, results_;
};

} // namespace divisi

#endif // DIVISI_EVALUATE_KERNELCALL_H
