//===- Mutations.h - Small lies in partitioned programs ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every field of a partitioned program, changed in every small way: layouts of
// values (axes, order of axes, bounds, partial axes, kind), of places, and of
// both at once; splits; kinds, axes, grids and tags of moves; operands; the
// order of what ranks do together; ranks and indices of functions; devices and
// axes of grids.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_VERIFY_MUTATIONS_H
#define DIVISI_TEST_VERIFY_MUTATIONS_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace divisi {

/// A change of a program. `apply` makes it in a copy of the program that it was
/// listed for, and returns false where it cannot be said in IR.
struct Mutation {
  std::string name;
  std::function<bool(mlir::ModuleOp)> apply;
};

/// All mutations of `module`, in program order.
std::vector<Mutation> listMutations(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_TEST_VERIFY_MUTATIONS_H
