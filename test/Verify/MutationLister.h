//===- MutationLister.h - How mutations are listed --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_VERIFY_MUTATIONLISTER_H
#define DIVISI_TEST_VERIFY_MUTATIONLISTER_H

#include "Mutations.h"

#include "dialects/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Lists the mutations of one module, operation by operation: of what is in
/// functions in Mutations.cpp, of what is around them in
/// SignatureMutations.cpp.
class MutationLister {
public:
  explicit MutationLister(mlir::ModuleOp module);
  std::vector<Mutation> run();

private:
  using Change = std::function<bool(mlir::Operation *)>;

  /// Adds a change of operation `index`.
  void add(size_t index, const std::string &what, Change change);
  void listValueLayouts(size_t index);
  void listSplits(size_t index);
  void listStep(size_t index);
  void listTransfer(size_t index);
  void listOperands(size_t index);
  void listOrder(size_t index);
  void listFunction(size_t index);
  void listSignature(size_t index, mlir::func::FuncOp function);
  void listGrid(size_t index);
  void listGlobal(size_t index);

  std::vector<mlir::FlatSymbolRefAttr>
  gridsBeside(mlir::FlatSymbolRefAttr grid);

  mlir::ModuleOp module_;
  std::vector<mlir::Operation *> ops_;
  std::vector<Mutation> mutations_;
};

/// Gives `value` the layout, or returns false if no type can say it.
bool setLayout(mlir::Value value, const Layout &layout);

} // namespace divisi

#endif // DIVISI_TEST_VERIFY_MUTATIONLISTER_H
