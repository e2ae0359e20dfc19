//===- RowValues.cpp - The values of a row program ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowValues.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/TypedFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using Node = RowProgram::Node;
using Kind = Node::Kind;

/// The type of a float that is computed as the node says.
Type RowValues::floatType(const Node &node) {
  bool isWide = node.type == rt::DType::F64;
  return isWide ? withElement(type_, b_.getF64Type()) : type_;
}

Value RowValues::call(const Node &node, ValueRange operands) {
  Value value = emitTyped(b_, node.function, program_.operandType(node),
                          node.type, operands);
  return node.rounded
             ? fromStored(b_, toStored(b_, value, *node.rounded), *node.rounded)
             : value;
}

void RowValues::emitStill(int pass) {
  for (size_t n = 0; n < program_.nodes.size(); ++n) {
    const Node &node = program_.nodes[n];
    if (!node.isStill || node.pass != pass) {
      continue;
    }
    switch (node.kind) {
    case Kind::Load:
      still_[n] = memory_.loadStill(node.tensor);
      break;
    case Kind::Constant:
      still_[n] = emitConstant(b_, floatType(node), node.value);
      break;
    case Kind::Columns:
      still_[n] = memory_.columns(floatType(node));
      break;
    case Kind::Map: {
      SmallVector<Value> operands;
      for (int operand : node.operands) {
        operands.push_back(still_[operand]);
      }
      still_[n] = call(node, operands);
      break;
    }
    case Kind::Sum:
    case Kind::Max:
      break; // by the pass that it ends
    }
  }
}

Value RowValues::valueOf(int number, int pass, Block &block) {
  const Node &node = program_.nodes[number];
  if (node.isStill) {
    return still_[number];
  }
  Value &known = block.values[number];
  if (known) {
    return known;
  }
  bool isKept = node.keptIn >= 0 && memory_.keepsRows();
  if (isKept && node.keptBy < pass) {
    return known = memory_.loadKept(node.keptIn, block.column);
  }
  if (node.kind == Kind::Load) {
    return known = memory_.load(node.tensor, block.column, block.mask);
  }
  SmallVector<Value> operands;
  for (int operand : node.operands) {
    operands.push_back(valueOf(operand, pass, block));
  }
  Value value = call(node, operands);
  if (isKept) {
    memory_.storeKept(node.keptIn, value, block.column);
  }
  return block.values[number] = value;
}

Value RowValues::neutral(const Node &reduction) {
  bool isSum = reduction.kind == Kind::Sum;
  return emitConstant(b_, floatType(reduction),
                      isSum ? 0 : -std::numeric_limits<double>::infinity());
}

Value RowValues::combine(const Node &reduction, Value sum, Value value,
                         Value mask) {
  Function function =
      reduction.kind == Kind::Sum ? Function::Add : Function::Max;
  Value next = emitFunction(b_, function, {value, sum});
  return mask ? arith::SelectOp::create(b_, mask, next, sum) : next;
}

SmallVector<Value> RowValues::emitBlock(int pass, Block block,
                                        ValueRange sums) {
  block.values.resize(program_.nodes.size());
  SmallVector<Value> next;
  for (auto [number, sum] :
       llvm::zip_equal(program_.reductionsOf(pass), sums)) {
    const Node &reduction = program_.nodes[number];
    Value value = valueOf(reduction.operands[0], pass, block);
    next.push_back(combine(reduction, sum, value, block.mask));
  }
  if (pass + 1 == program_.passes) {
    SmallVector<Value> results;
    for (int number : program_.results) {
      results.push_back(valueOf(number, pass, block));
    }
    memory_.storeResults(results, block.column, block.mask);
  }
  return next;
}
