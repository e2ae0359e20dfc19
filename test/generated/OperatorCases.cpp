//===- OperatorCases.cpp - An operator under every strategy ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperatorCases.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace divisi;

std::string OperatorCase::str(const LoopNest &nest) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  grid.print(os);
  os << " split {";
  split.print(os, grid, nest);
  os << "}";
  for (auto [index, layout] : llvm::enumerate(arguments)) {
    if (layout) {
      os << " argument " << index << " " << layout->str(grid);
    }
  }
  if (result) {
    os << " result " << result->str(grid);
  }
  return text;
}

Operation *divisi::operatorOf(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (isa<nn::LoopInterface>(op)) {
      return &op;
    }
  }
  return nullptr;
}

static std::vector<Grid> testGrids() {
  return {Grid({{"x", 2}}), Grid({{"x", 3}}), Grid({{"x", 4}}),
          Grid({{"x", 2}, {"y", 2}})};
}

/// A layout that may split any dimension over any free axes. A partial one
/// only if `mayBePartial`.
static Layout randomLayout(const Grid &grid, ArrayRef<int64_t> shape,
                           bool mayBePartial, std::mt19937 &random) {
  Layout layout = Layout::replicated(shape.size());
  for (uint32_t axis = 0; axis < grid.numAxes(); ++axis) {
    size_t choice = random() % (shape.size() + 2);
    if (choice < shape.size()) {
      layout.dims[choice].axes.push_back(AxisId{axis});
    } else if (choice == shape.size() && mayBePartial) {
      layout.partialAxes.push_back(AxisId{axis});
    }
  }
  for (DimLayout &dim : layout.dims) {
    std::shuffle(dim.axes.begin(), dim.axes.end(), random);
  }
  layout.canonicalize(grid, shape);
  return layout;
}

std::vector<OperatorCase> divisi::makeCases(func::FuncOp function, size_t limit,
                                            unsigned seed) {
  auto op = cast<nn::LoopInterface>(operatorOf(function));
  LoopNest nest = op.getLoopNest();
  std::mt19937 random(seed);
  std::vector<OperatorCase> cases;
  for (const Grid &grid : testGrids()) {
    for (const Split &split : enumerateSplits(nest, grid, 100'000)) {
      OperatorCase derived{grid, split, {}, std::nullopt};
      derived.arguments.resize(function.getNumArguments());
      OperatorCase converted = derived;
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
        auto tensor = cast<RankedTensorType>(type);
        converted.arguments[index] =
            randomLayout(grid, tensor.getShape(),
                         nn::hasSums(tensor.getElementType()), random);
      }
      auto result = cast<RankedTensorType>(op->getResult(0).getType());
      converted.result = randomLayout(grid, result.getShape(), false, random);
      cases.push_back(std::move(derived));
      cases.push_back(std::move(converted));
    }
  }
  if (cases.size() > limit) {
    std::shuffle(cases.begin(), cases.end(), random);
    cases.resize(limit);
  }
  return cases;
}

namespace {

/// Plans a copy of a function of one operator.
class CasePlanner {
public:
  CasePlanner(func::FuncOp source, const OperatorCase &planned);
  OwningOpRef<ModuleOp> run();

private:
  Layout argumentLayout(unsigned index, const LoopNest &nest);
  void placeArgument(unsigned index, Layout layout);

  const OperatorCase &planned_;
  OwningOpRef<ModuleOp> module_;
  spmd::GridOp grid_;
  func::FuncOp function_;
};

} // namespace

CasePlanner::CasePlanner(func::FuncOp source, const OperatorCase &planned)
    : planned_(planned), module_(ModuleOp::create(source.getLoc())) {
  OpBuilder builder = OpBuilder::atBlockEnd(module_->getBody());
  grid_ = spmd::GridOp::create(builder, source.getLoc(), "g", planned.grid);
  function_ = cast<func::FuncOp>(builder.clone(*source));
}

/// What the first use of argument `index` wants, if an argument may lie so.
Layout CasePlanner::argumentLayout(unsigned index, const LoopNest &nest) {
  Operation *op = operatorOf(function_);
  BlockArgument argument = function_.getArgument(index);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(argument.getType()).getShape();
  for (auto [operand, value] : llvm::enumerate(op->getOperands())) {
    if (value != argument) {
      continue;
    }
    Layout layout = operandLayout(nest, planned_.grid, planned_.split, operand);
    layout.canonicalize(planned_.grid, shape);
    if (!layout.verifyCoverage(planned_.grid, shape)) {
      return layout;
    }
  }
  return Layout::replicated(shape.size());
}

/// A partial layout cannot come from outside: a reshape to the same shape makes
/// the value, and its place is partial.
void CasePlanner::placeArgument(unsigned index, Layout layout) {
  BlockArgument argument = function_.getArgument(index);
  auto type = cast<RankedTensorType>(argument.getType());
  Layout outside = layout;
  outside.partialAxes.clear();
  spmd::setArgPlace(function_, index,
                    spmd::makePlace(grid_, type.getShape(), outside));
  if (!layout.isPartial()) {
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&function_.getBody().front());
  auto same =
      nn::ReshapeOp::create(builder, function_.getLoc(), type, argument);
  LoopNest nest = cast<nn::LoopInterface>(same.getOperation()).getLoopNest();
  spmd::setSplit(same, grid_, nest, Split::replicated(nest));
  spmd::setPlace(same->getResult(0),
                 spmd::makePlace(grid_, type.getShape(), layout));
  argument.replaceAllUsesExcept(same.getResult(), same);
}

OwningOpRef<ModuleOp> CasePlanner::run() {
  Operation *op = operatorOf(function_);
  LoopNest nest = cast<nn::LoopInterface>(op).getLoopNest();
  spmd::setSplit(op, grid_, nest, planned_.split);
  for (unsigned index = 0; index < function_.getNumArguments(); ++index) {
    placeArgument(index, planned_.arguments[index]
                             ? *planned_.arguments[index]
                             : argumentLayout(index, nest));
  }
  for (auto [index, type] : llvm::enumerate(function_.getResultTypes())) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    spmd::setResultPlace(
        function_, index,
        spmd::makePlace(
            grid_, shape,
            planned_.result.value_or(Layout::replicated(shape.size()))));
  }
  return std::move(module_);
}

OwningOpRef<ModuleOp> divisi::makePlannedModule(func::FuncOp function,
                                                const OperatorCase &planned) {
  return CasePlanner(function, planned).run();
}
