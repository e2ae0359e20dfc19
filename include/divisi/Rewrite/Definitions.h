//===- Definitions.h - What makes a value -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a program one operator makes a value; in an e-graph several do, all of
// which compute the same. Rules are matched alike in both.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_DEFINITIONS_H
#define DIVISI_REWRITE_DEFINITIONS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace divisi::rewrite {

/// The operators among which rules are matched.
class Definitions {
public:
  /// Returns true to end the visits.
  using Visit = llvm::function_ref<bool(mlir::Operation *)>;

  virtual ~Definitions() = default;
  /// Visits all that make `value`, in order; whether `visit` has returned true.
  virtual bool anyOf(mlir::Value value, Visit visit) const = 0;
  /// The same of all operators of that name: `nn.matmul`.
  virtual bool anyNamed(llvm::StringRef name, Visit visit) const = 0;
};

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_DEFINITIONS_H
