//===- ThreadBuilder.h - Emitting what one thread does ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_THREADBUILDER_H
#define DIVISI_LIB_CODEGEN_THREADBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// What all emitters of the mapped form (EmitGrid.h) need. Indices and numbers
/// are i64.
class ThreadBuilder {
public:
  using Dimension = mlir::gpu::Dimension; ///< x, y or z of blocks and threads.

  /// Appends where `builder` stands, which must outlive it.
  explicit ThreadBuilder(mlir::ImplicitLocOpBuilder &builder) : b_(builder) {}

protected:
  /// A constant.
  mlir::Value number(int64_t value);
  /// An operation on values, with one result.
  template <typename Op, typename... Values>
  mlir::Value make(Values... values) {
    return Op::create(b_, values...);
  }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value isLess(mlir::Value x, mlir::Value y);
  mlir::Value isEqual(mlir::Value x, mlir::Value y);
  /// Of the thread in its block, or of the block in the grid.
  template <typename Op> mlir::Value position(Dimension dimension) {
    return mlir::arith::IndexCastOp::create(b_, b_.getI64Type(),
                                            Op::create(b_, dimension));
  }
  /// Where the element of that index is.
  mlir::Value at(mlir::Value pointer, mlir::Type element, mlir::Value index);
  mlir::Value load(mlir::Value pointer, mlir::Type element, mlir::Value index);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value index);
  void barrier() { mlir::gpu::BarrierOp::create(b_); }

  using Values = llvm::SmallVector<mlir::Value>;
  /// A loop that carries values: `body` makes the next ones of the last.
  Values
  loop(mlir::Value begin, mlir::Value end, mlir::Value step,
       mlir::ValueRange carried,
       llvm::function_ref<Values(mlir::Value index, mlir::ValueRange)> body);
  /// One that carries none.
  void loop(mlir::Value begin, mlir::Value end, mlir::Value step,
            llvm::function_ref<void(mlir::Value index)> body);
  /// What is done where `condition` holds.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// `body`'s value where `condition` holds, else `otherwise`.
  mlir::Value valueWhen(mlir::Value condition, mlir::Value otherwise,
                        llvm::function_ref<mlir::Value()> body);
  /// Counts `index` along `extents`, the last of which counts fastest: adds
  /// what each index makes with its strides to the sum of these strides.
  void addStrides(mlir::Value index, mlir::ValueRange extents,
                  llvm::ArrayRef<mlir::ValueRange> strides,
                  llvm::MutableArrayRef<mlir::Value> sums);

  mlir::ImplicitLocOpBuilder &b_;
};

/// The kernel of `module`, which has none yet, of so many pointers and numbers;
/// `builder` is at its beginning afterwards, before a return.
mlir::LLVM::LLVMFuncOp beginKernel(mlir::ImplicitLocOpBuilder &builder,
                                   mlir::ModuleOp module, size_t pointers,
                                   size_t numbers);
/// Memory that a block shares, of so many elements. A module has one of these.
mlir::Value shareMemory(mlir::ImplicitLocOpBuilder &builder,
                        mlir::ModuleOp module, mlir::Type element,
                        int64_t count);

/// Memory of a kernel that nobody writes, with the elements of `values`.
mlir::Value constantMemory(mlir::ImplicitLocOpBuilder &builder,
                           mlir::ModuleOp module, llvm::StringRef name,
                           mlir::DenseElementsAttr values);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_THREADBUILDER_H
