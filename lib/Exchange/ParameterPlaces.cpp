//===- ParameterPlaces.cpp - Where parameters rest ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterPlaces.h"

#include "FactorDims.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace divisi;

namespace {

/// Follows a derived global to the globals that it is made of. One use.
class Derivation {
public:
  /// `found` is told of each global, and of factors of its dimensions.
  explicit Derivation(
      llvm::function_ref<void(StringRef, ArrayRef<FactorLayout>)> found)
      : found_(found) {}

  void follow(Value value, std::vector<FactorLayout> factors);

private:
  void followMove(Operation *op, std::vector<FactorLayout> factors);

  llvm::function_ref<void(StringRef, ArrayRef<FactorLayout>)> found_;
};

} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static std::vector<FactorLayout> flatten(ArrayRef<DimFactorLayouts> dims) {
  std::vector<FactorLayout> factors;
  for (const DimFactorLayouts &dim : dims) {
    llvm::append_range(factors, dim);
  }
  return factors;
}

/// Elements stay as they are, in another order or among others.
void Derivation::followMove(Operation *op, std::vector<FactorLayout> factors) {
  auto dims = groupFactors(factors, shapeOf(op->getResult(0)));
  if (!dims) {
    return;
  }
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    std::vector<DimFactorLayouts> before(dims->size());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation())) {
      before[size_t(from)] = (*dims)[to];
    }
    return follow(transpose.getX(), flatten(before));
  }
  auto concat = cast<nn::ConcatOp>(op);
  DimFactorLayouts &joined = (*dims)[size_t(concat.getAxis())];
  if (llvm::any_of(joined, [](auto &part) { return !part.axes.empty(); })) {
    return;
  }
  for (Value part : concat.getXs()) {
    joined = {{shapeOf(part)[size_t(concat.getAxis())], {}}};
    follow(part, flatten(*dims));
  }
}

void Derivation::follow(Value value, std::vector<FactorLayout> factors) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast_or_null<nn::ReadOp>(op)) {
    found_(read.getGlobal(), factors);
  } else if (isa_and_nonnull<nn::TransposeOp, nn::ConcatOp>(op)) {
    followMove(op, std::move(factors));
  } else if (op && op->getNumOperands() == 1 &&
             (isa<nn::ReshapeOp>(op) ||
              shapeOf(op->getOperand(0)) == shapeOf(value))) {
    follow(op->getOperand(0), std::move(factors));
  }
}

std::vector<TensorLayout>
divisi::parameterPlaces(ModuleOp planned, const ModelOutline &outline,
                        llvm::function_ref<size_t(StringRef)> gridNumber) {
  std::vector<TensorLayout> places;
  llvm::StringSet<> known;
  auto add = [&](StringRef name, const spmd::ResolvedPlace &place,
                 ArrayRef<FactorLayout> factors) {
    auto shape = outline.initializers.find(name.str());
    if (shape == outline.initializers.end() || known.contains(name)) {
      return;
    }
    spmd::GridOp grid = place.grid;
    auto dims = groupFactors(factors, shape->second);
    if (dims) {
      known.insert(name);
      places.push_back({name.str(), gridNumber(grid.getSymName()), *dims,
                        place.layout.partialAxes, place.layout.partialKind,
                        llvm::any_of(place.layout.dims,
                                     [](const DimLayout &dim) {
                                       return !dim.bounds.empty();
                                     }),
                        place.layout.str(grid.getValue())});
    }
  };
  llvm::StringMap<Value> derived;
  if (auto init = planned.lookupSymbol<func::FuncOp>(nn::kInitFunction)) {
    init.walk([&](nn::UpdateOp update) {
      derived[update.getGlobal()] = update.getValue();
    });
  }
  for (auto global : planned.getOps<nn::GlobalOp>()) {
    spmd::PlaceAttr place = spmd::getPlace(global);
    if (!place) {
      continue;
    }
    FailureOr<spmd::ResolvedPlace> rest = spmd::requirePlace(
        global, place, global.getTensorType(), global.getSymName());
    if (failed(rest)) {
      continue;
    }
    std::vector<FactorLayout> factors;
    auto type = cast<RankedTensorType>(global.getTensorType());
    for (auto [extent, dim] : llvm::zip(type.getShape(), rest->layout.dims)) {
      factors.push_back({extent, dim.axes});
    }
    add(global.getSymName(), *rest, factors);
    if (auto made = derived.find(global.getSymName()); made != derived.end()) {
      Derivation([&](StringRef name, ArrayRef<FactorLayout> of) {
        add(name, *rest, of);
      }).follow(made->second, factors);
    }
  }
  return places;
}
