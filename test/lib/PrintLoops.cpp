//===- PrintLoops.cpp - Shows the loop nest of every operator -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --nn-print-loops prints, instead of the program, for every operator:
//
//   nn.matmul m=4 n=16 k=8:sum 1024 flops
//     in  (m)(k)
//     in  (k)(n)
//     out (m)(n)
//     linear {0} {1}
//
// A loop of another kind than parallel says so behind a colon. `1` is a
// dimension without a loop, `d0*2+[0,2]-1` a window, `d0[0:2 1:3]` a table.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace divisi;

static void printLoop(raw_ostream &os, const Loop &loop) {
  os << loop.name << '=' << loop.extent;
  switch (loop.kind) {
  case LoopKind::Parallel:
    return;
  case LoopKind::Reduction:
    os << ':' << stringifyReduceKind(loop.reduce);
    return;
  case LoopKind::Indexed:
    os << ":indexed-" << stringifyReduceKind(loop.reduce);
    return;
  default:
    os << ':' << stringifyLoopKind(loop.kind);
  }
}

static void printDim(raw_ostream &os, const LoopNest &nest, const DimMap &dim) {
  if (dim.loops.empty()) {
    os << '1';
  }
  llvm::interleave(
      dim.loops, os, [&](LoopId loop) { os << nest.loop(loop).name; }, " ");
  if (dim.kind == DimMap::Kind::Window) {
    os << '*' << dim.stride << "+[0," << dim.reach << "]-" << dim.lo;
  } else if (dim.kind == DimMap::Kind::Table) {
    os << '[';
    llvm::interleave(
        dim.table, os,
        [&](Interval reach) { os << reach.begin << ':' << reach.end; }, " ");
    os << ']';
  }
}

static void printTensor(raw_ostream &os, StringRef title, const LoopNest &nest,
                        const TensorMap &map) {
  os << title;
  for (const DimMap &dim : map.dims) {
    os << '(';
    printDim(os, nest, dim);
    os << ')';
  }
  os << '\n';
}

static void printNest(raw_ostream &os, Operation *op, const LoopNest &nest) {
  os << op->getName();
  for (const Loop &loop : nest.loops) {
    printLoop(os << ' ', loop);
  }
  os << ' ' << llvm::format("%g", nest.flops()) << " flops\n";
  for (const TensorMap &map : nest.operands) {
    printTensor(os, "  in  ", nest, map);
  }
  for (const TensorMap &map : nest.results) {
    printTensor(os, "  out ", nest, map);
  }
  if (nest.linear.empty()) {
    return;
  }
  os << "  linear";
  for (const auto &operands : nest.linear) {
    os << " {";
    llvm::interleaveComma(operands, os);
    os << '}';
  }
  os << '\n';
}

namespace {
class PrintLoops : public PassWrapper<PrintLoops, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintLoops)
  StringRef getArgument() const override { return "nn-print-loops"; }
  StringRef getDescription() const override {
    return "print the loop nest of every nn operator";
  }
  void runOnOperation() override {
    getOperation()->walk([](nn::LoopInterface op) {
      printNest(llvm::outs(), op, op.getLoopNest());
    });
    markAllAnalysesPreserved();
  }
};
} // namespace

namespace divisi::test {
void registerTestPasses() { PassRegistration<PrintLoops>(); }
} // namespace divisi::test
