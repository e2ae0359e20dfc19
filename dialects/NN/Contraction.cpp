//===- Contraction.cpp - Products summed over labels ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Integer.h"
#include "dialects/NN/Labels.h"
#include "dialects/NN/Nests.h"
#include "divisi/Support/Labels.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace divisi::nn {

std::optional<Labels> Labels::parse(StringRef text) {
  std::vector<std::string_view> parts = splitLabels(text);
  if (parts.size() != 3 || !llvm::all_of(parts, [](StringRef part) {
        return llvm::all_of(part, llvm::isAlpha);
      })) {
    return std::nullopt;
  }
  return Labels{std::string(parts[0]), std::string(parts[1]),
                std::string(parts[2])};
}

std::string Labels::str() const { return a + "," + b + "->" + result; }

/// An error if a letter stands twice in `letters` (C3).
static LogicalResult checkDistinct(StringRef letters, EmitError emitError) {
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters.drop_front(i + 1).contains(letters[i])) {
      return emitError() << "label '" << letters.substr(i, 1)
                         << "' occurs twice in \"" << letters
                         << "\"; take the diagonal first";
    }
  }
  return success();
}

/// Adds the extents of an operand's letters (C2, C3, C4).
static LogicalResult addExtents(StringRef letters, Type type,
                                llvm::StringMap<int64_t> &extents,
                                EmitError emitError) {
  ArrayRef<int64_t> shape = globalShape(type);
  if (letters.size() != shape.size()) { // C2
    return emitError() << "labels \"" << letters << "\" name " << letters.size()
                       << " dimensions, but the operand has " << shape.size();
  }
  if (failed(checkDistinct(letters, emitError))) { // C3
    return failure();
  }
  for (size_t i = 0; i < letters.size(); ++i) {
    StringRef letter = letters.substr(i, 1);
    int64_t extent = extents.try_emplace(letter, shape[i]).first->second;
    if (extent != shape[i]) { // C4
      return emitError() << "label '" << letter << "' has the extents "
                         << extent << " and " << shape[i]
                         << ", expected one extent";
    }
  }
  return success();
}

/// The result's shape (C1 to C6 of nn.matmul).
template <typename Adaptor>
static FailureOr<SmallVector<int64_t>> inferShape(Adaptor adaptor,
                                                  EmitError emitError) {
  std::optional<Labels> labels = Labels::parse(adaptor.getLabels());
  if (!labels) { // C1
    return emitError() << "'labels' is \"" << adaptor.getLabels()
                       << "\", expected a form like \"bmk,kn->bmn\"";
  }
  llvm::StringMap<int64_t> extents;
  if (failed(addExtents(labels->a, adaptor.getA().getType(), extents,
                        emitError)) ||
      failed(addExtents(labels->b, adaptor.getB().getType(), extents,
                        emitError)) ||
      failed(checkDistinct(labels->result, emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (char letter : labels->result) {
    auto it = extents.find(StringRef(&letter, 1));
    if (it == extents.end()) { // C5
      return emitError() << "label '" << std::string(1, letter)
                         << "' of the result occurs in no operand";
    }
    shape.push_back(it->second);
  }
  for (char letter : labels->a + labels->b) {
    bool inBoth = labels->a.find(letter) != std::string::npos &&
                  labels->b.find(letter) != std::string::npos;
    if (!inBoth && labels->result.find(letter) == std::string::npos) { // C6
      return emitError() << "label '" << std::string(1, letter)
                         << "' occurs in one operand but not in the result; "
                            "reduce the operand first";
    }
  }
  return shape;
}

FailureOr<RankedTensorType> MatmulOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  FailureOr<SmallVector<int64_t>> shape = inferShape(adaptor, emitError);
  if (failed(shape)) {
    return failure();
  }
  return makeType(*shape, getElementTypeOrSelf(adaptor.getA().getType()),
                  emitError);
}

FailureOr<RankedTensorType> MatmulIntegerOp::inferType(Adaptor adaptor,
                                                       EmitError emitError) {
  FailureOr<SmallVector<int64_t>> shape = inferShape(adaptor, emitError);
  if (failed(shape) ||                                    // C1
      failed(checkZeroPoint("a_zero", adaptor.getAZero(), // C2
                            adaptor.getA().getType(), emitError)) ||
      failed(checkZeroPoint("b_zero", adaptor.getBZero(), // C2
                            adaptor.getB().getType(), emitError))) {
    return failure();
  }
  Value zero = adaptor.getZero();
  if (zero &&
      (!globalShape(zero.getType()).empty() || adaptor.getAZero() != 0 ||
       getElementTypeOrSelf(zero.getType()) !=
           getElementTypeOrSelf(adaptor.getA().getType()))) { // C3
    return emitError() << "'zero' has type " << zero.getType()
                       << " beside an 'a_zero' of " << adaptor.getAZero()
                       << ", expected a scalar of the elements of 'a', and 0";
  }
  auto i32 = IntegerType::get(adaptor.getA().getContext(), 32);
  return makeType(*shape, i32, emitError);
}

/// Loop names are lower-case: label X is the loop `x_`.
static std::string loopName(char letter) {
  if (llvm::isUpper(letter)) {
    return std::string(1, llvm::toLower(letter)) + "_";
  }
  return std::string(1, letter);
}

static TensorMap mapLabels(const LoopNest &nest, StringRef letters, Type type) {
  SmallVector<LoopId, 4> loops;
  for (char letter : letters) {
    loops.push_back(*nest.find(loopName(letter)));
  }
  return mapLoops(type, loops);
}

/// A letter that the result lacks is summed over.
template <typename OpT> static LoopNest productNest(OpT op) {
  Labels labels = *Labels::parse(op.getLabels());
  LoopNest nest;
  ArrayRef<int64_t> result = globalShape(op.getResult().getType());
  for (auto [dim, letter] : llvm::enumerate(labels.result)) {
    nest.add(loopName(letter), result[dim]);
  }
  ArrayRef<int64_t> a = globalShape(op.getA().getType());
  for (auto [dim, letter] : llvm::enumerate(labels.a)) {
    if (labels.result.find(letter) == std::string::npos) {
      nest.add(loopName(letter), a[dim], LoopKind::Reduction);
    }
  }
  nest.operands = {mapLabels(nest, labels.a, op.getA().getType()),
                   mapLabels(nest, labels.b, op.getB().getType())};
  nest.results = {mapLabels(nest, labels.result, op.getResult().getType())};
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

LoopNest MatmulOp::getLoopNest() { return productNest(*this); }

LoopNest MatmulIntegerOp::getLoopNest() {
  LoopNest nest = productNest(*this);
  if (getZero()) {
    nest.operands.push_back(mapLoops(getZero().getType(), {}));
  }
  // What is left of a sum of numbers has lost its zero points.
  nest.linear.clear();
  return nest;
}

} // namespace divisi::nn
