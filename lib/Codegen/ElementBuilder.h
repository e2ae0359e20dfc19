//===- ElementBuilder.h - Emitting what elements are ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ELEMENTBUILDER_H
#define DIVISI_LIB_CODEGEN_ELEMENTBUILDER_H

#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/RowProgram.h"
#include "lib/Codegen/ThreadBuilder.h"

namespace divisi {

/// What emitters need of which each thread has some elements of any type.
class ElementBuilder : protected ThreadBuilder {
protected:
  /// Of a kernel that is handed `arguments`.
  ElementBuilder(mlir::ImplicitLocOpBuilder &builder,
                 mlir::ValueRange arguments)
      : ThreadBuilder(builder), arguments_(arguments) {}

  /// The argument that comes next, or the next `count` of them.
  mlir::Value take() { return take(1)[0]; }
  mlir::ValueRange take(size_t count);

  /// Does `body` for this thread's share of `count` elements of a grid along x:
  /// side by side with those of its neighbours.
  void forOwn(mlir::Value count,
              llvm::function_ref<void(mlir::Value index)> body);
  /// The index along each of `extents`, the last of which counts fastest.
  Values indicesOf(mlir::Value index, mlir::ValueRange extents);

  /// An element as it is computed with (computedAs()).
  mlir::Value loadElement(mlir::Value pointer, rt::DType type,
                          mlir::Value index);
  /// One of type `from`, cast() to what `to` is computed as; less `zero`, if
  /// that is one.
  mlir::Value loadAs(mlir::Value pointer, rt::DType from, rt::DType to,
                     mlir::Value index, mlir::Value zero = {});
  void storeElement(mlir::Value value, rt::DType type, mlir::Value pointer,
                    mlir::Value index);
  /// A function of elements that are computed as `type`, as the result is.
  mlir::Value call(Function function, rt::DType type,
                   mlir::ValueRange operands);
  /// What is computed as `type`: 0, 1, and the least there is.
  mlir::Value zero(rt::DType type) { return constant(type, 0); }
  mlir::Value one(rt::DType type) { return constant(type, 1); }
  mlir::Value lowest(rt::DType type);
  /// From one element type to another: of the one as it is computed with to
  /// what is computed with, and stored, as the other.
  mlir::Value cast(mlir::Value value, rt::DType from, rt::DType to);
  /// An index tensor's element, as i64.
  mlir::Value loadIndex(mlir::Value pointer, rt::DType type, mlir::Value place);

  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::SubIOp>(x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::AndIOp>(x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return make<mlir::arith::SelectOp>(condition, yes, no);
  }
  /// Whether 0 <= index < end.
  mlir::Value isInside(mlir::Value index, mlir::Value end) {
    return mlir::arith::CmpIOp::create(b_, mlir::arith::CmpIPredicate::ult,
                                       index, end);
  }

private:
  mlir::Value constant(rt::DType type, int64_t value);

  mlir::ValueRange arguments_;
};

/// What is checked of indices, and where the first bad one is said
/// (rt::GridGather::Found).
struct IndexPlaces {
  mlir::Value pointer; ///< Where the indices begin.
  rt::DType type;      ///< Of an index.
  mlir::Value count;   ///< How many there are; 0: nothing is checked.
  mlir::ValueRange extents, strides; ///< Of the indices, dim by dim.
  mlir::Value rows;                  ///< From -rows to rows - 1 they are good.
  mlir::Value found;                 ///< Where the first bad one is written.
};

/// Lets the first block look at all of the indices; `shared` has an i64 for
/// each warp.
void emitIndexCheck(mlir::ImplicitLocOpBuilder &builder,
                    const IndexPlaces &places, mlir::Value shared);

/// Adds the kernel of `plan` to `module`: what `Emitter` makes of it, and the
/// check of its places().
template <typename Emitter, typename Plan>
void emitIndexedKernel(mlir::ModuleOp module, const Plan &plan) {
  mlir::ImplicitLocOpBuilder b(mlir::UnknownLoc::get(module.getContext()),
                               module.getContext());
  auto kernel = beginKernel(b, module, plan.pointerCount(), plan.numberCount());
  mlir::Value shared = shareMemory(b, module, b.getI64Type(), rt::mostWarps);
  Emitter emitter(b, plan, kernel.getArguments());
  emitter.emit();
  emitIndexCheck(b, emitter.places(), shared);
}

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ELEMENTBUILDER_H
