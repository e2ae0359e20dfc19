//===- EmitRows.cpp - From row programs to vector loops -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitRows.h"
#include "divisi/runtime/code/RowCode.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/RowMemory.h"
#include "lib/Codegen/RowValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace divisi;

using Node = RowProgram::Node;
using Kind = Node::Kind;
using RowBlock = RowValues::Block;

namespace {

/// Emits the loops of one function.
class RowEmitter {
public:
  RowEmitter(ImplicitLocOpBuilder &builder, const RowProgram &program,
             const rt::RowNest &nest, int64_t lanes, Value arguments)
      : b_(builder), program_(program),
        memory_(builder, nest, lanes, arguments), lanes_(lanes),
        floats_(VectorType::get(lanes, builder.getF32Type())),
        values_(builder, program, memory_, floats_) {}

  void emit();

private:
  void emitPass(int pass);
  int64_t vectorsAtATime(int pass) const;
  Value reduce(const Node &reduction, ValueRange sums);

  ImplicitLocOpBuilder &b_;
  const RowProgram &program_;
  RowMemory memory_;
  int64_t lanes_;
  VectorType floats_;
  RowValues values_;
};

} // namespace

/// One value of the row, as a vector of equal elements.
Value RowEmitter::reduce(const Node &reduction, ValueRange sums) {
  Value all = sums[0];
  for (Value sum : sums.drop_front()) {
    all = values_.combine(reduction, all, sum, Value());
  }
  bool isSum = reduction.kind == Kind::Sum;
  auto kind =
      isSum ? vector::CombiningKind::ADD : vector::CombiningKind::MAXIMUMF;
  auto order =
      isSum ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  Value scalar = vector::ReductionOp::create(b_, kind, all, order);
  return vector::BroadcastOp::create(b_, floats_, scalar);
}

/// Some sums at a time hide how long one addition takes; what costs much has
/// work enough.
int64_t RowEmitter::vectorsAtATime(int pass) const {
  bool isCostly = llvm::any_of(
      program_.nodes, [](const Node &node) { return node.keptBy >= 0; });
  return isCostly ? 2 : program_.reductionsOf(pass).empty() ? 2 : 4;
}

void RowEmitter::emitPass(int pass) {
  std::vector<int> reductions = program_.reductionsOf(pass);
  int64_t count = vectorsAtATime(pass);
  SmallVector<Value> begins; // of each reduction `count` sums
  for (int number : reductions) {
    begins.append(count, values_.neutral(program_.nodes[number]));
  }
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(b_, value, 64).getResult();
  };
  Value begin = memory_.columnBegin(), end = memory_.columnEnd();
  Value step = number(count * lanes_);
  Value left =
      arith::RemSIOp::create(b_, arith::SubIOp::create(b_, end, begin), step);
  Value main = arith::SubIOp::create(b_, end, left);
  auto body = [&](Value column, ValueRange sums, bool isWhole) {
    SmallVector<Value> next(sums);
    for (int64_t v = 0; v < (isWhole ? count : 1); ++v) {
      RowBlock block{arith::AddIOp::create(b_, column, number(v * lanes_)),
                  isWhole ? Value() : memory_.maskFrom(column)};
      SmallVector<Value> own;
      for (size_t r = 0; r < reductions.size(); ++r) {
        own.push_back(sums[r * count + v]);
      }
      for (auto [r, sum] : llvm::enumerate(values_.emitBlock(pass, block, own))) {
        next[r * count + v] = sum;
      }
    }
    return next;
  };
  auto loop = [&](Value from, Value to, Value by, ValueRange sums,
                  bool isWhole) {
    auto made = scf::ForOp::create(b_, from, to, by, sums);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(made.getBody());
    SmallVector<Value> next =
        body(made.getInductionVar(), made.getRegionIterArgs(), isWhole);
    if (!next.empty()) {
      scf::YieldOp::create(b_, next);
    }
    return SmallVector<Value>(made.getResults());
  };
  SmallVector<Value> sums = loop(begin, main, step, begins, true);
  sums = loop(main, end, number(lanes_), sums, false);
  for (auto [r, reduction] : llvm::enumerate(reductions)) {
    values_.setStill(reduction,
                     reduce(program_.nodes[reduction],
                            ValueRange(sums).slice(r * count, count)));
  }
}

void RowEmitter::emit() {
  Value one = arith::ConstantIntOp::create(b_, 1, 64);
  auto rows = scf::ForOp::create(b_, memory_.rowBegin(), memory_.rowEnd(), one);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(rows.getBody());
  memory_.enterRow(rows.getInductionVar());
  for (int pass = 0; pass < program_.passes; ++pass) {
    values_.emitStill(pass);
    emitPass(pass);
  }
}

void divisi::emitRows(ModuleOp module, const RowProgram &program,
                      const rt::RowNest &nest, int64_t lanes) {
  ImplicitLocOpBuilder builder(UnknownLoc::get(module.getContext()),
                               module.getBodyRegion());
  Value arguments = beginFunction(builder, rt::rowFunctionName);
  RowEmitter(builder, program, nest, lanes, arguments).emit();
  endFunction(builder);
}
