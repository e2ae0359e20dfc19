//===- EmitGrid.cpp - From row programs to blocks of threads --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitGrid.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/GridMemory.h"
#include "lib/Codegen/ThreadExchange.h"

using namespace mlir;
using namespace divisi;

using Node = RowProgram::Node;

namespace {

/// Emits what one thread does.
class GridEmitter : ThreadBuilder {
public:
  GridEmitter(ImplicitLocOpBuilder &builder, const RowProgram &program,
              const rt::RowNest &nest, ValueRange arguments, Value partials);
  void emit();

private:
  void emitPass(int pass, Value end);
  Value reduce(const Node &reduction, Value own);

  const RowProgram &program_;
  GridMemory memory_;
  RowValues values_;
  Value partials_; ///< A float of each warp, which the block shares.
  Value lane_, lanes_;
};

} // namespace

GridEmitter::GridEmitter(ImplicitLocOpBuilder &builder,
                         const RowProgram &program, const rt::RowNest &nest,
                         ValueRange arguments, Value partials)
    : ThreadBuilder(builder), program_(program),
      memory_(builder, nest, arguments),
      values_(builder, program, memory_, builder.getF32Type()),
      partials_(partials) {
  lane_ = position<gpu::ThreadIdOp>(Dimension::x);
  lanes_ = position<gpu::BlockDimOp>(Dimension::x);
}

/// What the threads of a row have, by each of them.
Value GridEmitter::reduce(const Node &reduction, Value own) {
  return ThreadExchange(b_, lane_, lanes_, partials_)
      .combine(own, values_.neutral(reduction), [&](Value x, Value y) {
        return values_.combine(reduction, x, y, Value());
      });
}

void GridEmitter::emitPass(int pass, Value end) {
  std::vector<int> reductions = program_.reductionsOf(pass);
  Values begins;
  for (int reduction : reductions) {
    begins.push_back(values_.neutral(program_.nodes[reduction]));
  }
  Value block = position<gpu::BlockIdOp>(Dimension::y);
  Value blocks = position<gpu::GridDimOp>(Dimension::y);
  Values ends = loop(add(mul(block, lanes_), lane_), end, mul(blocks, lanes_),
                     begins, [&](Value column, ValueRange sums) {
                       return values_.emitBlock(pass, {column, Value()}, sums);
                     });
  for (auto [reduction, own] : llvm::zip_equal(reductions, ends)) {
    values_.setStill(reduction, reduce(program_.nodes[reduction], own));
  }
}

void GridEmitter::emit() {
  Value rowsOfBlock = position<gpu::BlockDimOp>(Dimension::y);
  Value begin = mul(position<gpu::BlockIdOp>(Dimension::x), rowsOfBlock);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), rowsOfBlock);
  Value rowOfThread = position<gpu::ThreadIdOp>(Dimension::y);
  loop(begin, memory_.rows(), step, [&](Value first) {
    Value row = add(first, rowOfThread);
    Value isThere = isLess(row, memory_.rows());
    // Who has none goes through the motions with the first one, and no
    // elements.
    memory_.enterRow(make<arith::SelectOp>(isThere, row, number(0)));
    Value end = make<arith::SelectOp>(isThere, memory_.numColumns(), number(0));
    for (int pass = 0; pass < program_.passes; ++pass) {
      values_.emitStill(pass);
      emitPass(pass, end);
    }
  });
}

void divisi::emitGrid(ModuleOp module, const RowProgram &program,
                      const rt::RowNest &nest) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, nest.tensors.size(), rt::numberCount(nest));
  bool isWide = llvm::any_of(program.nodes, [](const Node &node) {
    return node.type == rt::DType::F64;
  });
  Type partial = isWide ? b.getF64Type() : b.getF32Type();
  Value partials = shareMemory(b, module, partial, rt::mostWarps);
  GridEmitter(b, program, nest, kernel.getArguments(), partials).emit();
}
