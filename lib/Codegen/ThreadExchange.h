//===- ThreadExchange.h - What threads tell each other ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_THREADEXCHANGE_H
#define DIVISI_LIB_CODEGEN_THREADEXCHANGE_H

#include "lib/Codegen/ThreadBuilder.h"

namespace divisi {

/// Combines what the threads of a row have: first of 32 at a time, by shuffles,
/// then, through memory that the block shares, what each of these has come to.
/// The order depends on the number of threads alone. Rows of more than 32 are a
/// block's only ones.
class ThreadExchange : ThreadBuilder {
public:
  /// Of f32 and f64, or integers of 32 and 64 bits.
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

  /// `lane` of `lanes`, a power of two; `shared` has an element for each warp.
  ThreadExchange(mlir::ImplicitLocOpBuilder &builder, mlir::Value lane,
                 mlir::Value lanes, mlir::Value shared)
      : ThreadBuilder(builder), lane_(lane), lanes_(lanes), shared_(shared) {}

  /// What all of them have together, by each of them. All threads of the block
  /// come here. It does not matter what `combine` makes of `neutral`.
  mlir::Value combine(mlir::Value own, mlir::Value neutral, Combine combine);

  /// The same for up to 32 threads, which share nothing.
  mlir::Value combineLanes(mlir::Value own, Combine combine);
  /// The same for each `count` threads side by side, a power of two up to 32.
  mlir::Value combineLanes(mlir::Value own, int count, Combine combine);

private:
  mlir::Value fromOther(mlir::Value own, int distance);
  mlir::Value combineWarps(mlir::Value ofWarp, mlir::Value neutral,
                           Combine combine);

  mlir::Value lane_, lanes_, shared_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_THREADEXCHANGE_H
