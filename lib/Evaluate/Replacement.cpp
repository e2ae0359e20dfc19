//===- Replacement.cpp - Values that take the place of others -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/Replacement.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/runtime/kernels/Element.h"
#include "lib/Evaluate/SmallExtents.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <random>

using namespace divisi;
using llvm::ArrayRef;
using mlir::Operation;
using mlir::Value;
using rt::DType, rt::FieldElement, rt::HostTensor;

ExactNumber ExactNumber::inverse() const {
  ExactNumber result;
  result.number = 1 / number;
  result.element = FieldElement(1) / element;
  return result;
}

ExactNumber &ExactNumber::operator*=(const ExactNumber &other) {
  number *= other.number;
  element = element * other.element;
  return *this;
}

/// Elements of one tensor beyond which extents are not small.
static constexpr int64_t kMostElements = 1 << 14;

static Status invalid(const std::string &why) {
  return Status(ExitCode::Invalid, why);
}

namespace {

/// Which elements masks hide.
enum class Hiding : uint8_t { None, Some, All };

/// A replacement at small extents.
class Trial {
public:
  explicit Trial(const Replacement &replacement) : all_(replacement) {}

  /// Finds what both sides are made of, and its extents.
  Status prepare();
  /// Compares results on elements that are drawn, all floats in `domain`.
  Status compare(DType domain, Hiding hiding) const;
  /// Whether the prime field, which has no order, can tell.
  bool isOrdered() const { return isOrdered_; }

private:
  using Tensor = Expected<HostTensor>;
  using Tensors = llvm::DenseMap<Value, HostTensor>;

  Status follow(Value value);
  Tensor draw(Value leaf, DType domain, Hiding hiding,
              std::mt19937_64 &random) const;
  Tensor constant(nn::ConstantOp op, DType domain) const;
  Tensor evaluate(Operation *op, DType domain, const Tensors &values) const;

  const Replacement &all_;
  llvm::SetVector<Value> leaves_;
  /// Those that are replaced, then those that were made; in their order.
  llvm::SetVector<Operation *> operators_;
  SmallExtents extents_;
  bool isOrdered_ = false;
};

} // namespace

/// Adds the operators that make `value` of leaves.
Status Trial::follow(Value value) {
  Operation *op = value.getDefiningOp();
  if (leaves_.contains(value) || (op && operators_.contains(op))) {
    return Status();
  }
  if (!op || op->getNumResults() != 1) {
    return invalid("it reads what the replacement does not");
  }
  for (Value operand : op->getOperands()) {
    if (Status status = follow(operand); !status.isOk()) {
      return status;
    }
  }
  isOrdered_ |= llvm::isa<nn::MaxOp, nn::MinOp>(op);
  operators_.insert(op);
  return Status();
}

Status Trial::prepare() {
  if (all_.replaced.getType() != all_.by.getType()) {
    return invalid("the replacement has another type");
  }
  for (Operation *op : all_.made) {
    for (Value operand : op->getOperands()) {
      if (!llvm::is_contained(all_.made, operand.getDefiningOp())) {
        leaves_.insert(operand);
      }
    }
  }
  if (Status status = follow(all_.replaced); !status.isOk()) {
    return status;
  }
  operators_.insert_range(all_.made);
  for (Operation *op : operators_) {
    if (Status status = extents_.add(op); !status.isOk()) {
      return status;
    }
  }
  extents_.choose();
  for (Operation *op : operators_) {
    if (rt::numElements(extents_.dimsOf(op->getResult(0))) > kMostElements) {
      return invalid("its extents cannot be made small");
    }
  }
  return Status();
}

/// The element type of a value where all floats are of the domain.
static DType typeOf(Value value, DType domain) {
  mlir::Type element =
      llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  return llvm::isa<mlir::FloatType>(element) ? domain : *fromMLIRType(element);
}

Trial::Tensor Trial::draw(Value leaf, DType domain, Hiding hiding,
                          std::mt19937_64 &random) const {
  DType type = typeOf(leaf, domain);
  Tensor tensor = HostTensor::zeros(type, extents_.dimsOf(leaf));
  if (!tensor) {
    return tensor;
  }
  auto mask = all_.masks.find(leaf);
  bool isMask = mask != all_.masks.end();
  auto hides = [&] {
    return isMask && (hiding == Hiding::All ||
                      (hiding == Hiding::Some && random() % 3 == 0));
  };
  if (type == DType::Field) {
    for (FieldElement &element : tensor->as<FieldElement>()) {
      element = FieldElement(random());
    }
  } else if (type == DType::F64) {
    for (double &element : tensor->as<double>()) {
      double drawn = double(random() >> 11) * 0x1p-52 - 1;
      element = hides() ? -INFINITY : drawn;
    }
  } else if (type == DType::Bool) {
    for (rt::Flag &element : tensor->as<rt::Flag>()) {
      bool drawn = random() % 2 != 0;
      element = rt::Flag(!isMask ? drawn : mask->second == hides());
    }
  } else {
    return invalid("it reads neither floats nor booleans");
  }
  return tensor;
}

static Expected<HostTensor> filled(const ExactNumber &number, DType domain,
                                   rt::Dims dims) {
  auto tensor = HostTensor::zeros(domain, std::move(dims));
  if (tensor && domain == DType::Field) {
    llvm::fill(tensor->as<FieldElement>(), number.element);
  } else if (tensor) {
    llvm::fill(tensor->as<double>(), number.number);
  }
  return tensor;
}

/// A constant of one number, exact if that is known.
Trial::Tensor Trial::constant(nn::ConstantOp op, DType domain) const {
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat() ||
      !llvm::isa<mlir::FloatType>(dense.getElementType())) {
    return invalid("it has a constant of several numbers");
  }
  auto exact = all_.exact.find(op);
  ExactNumber number(dense.getSplatValue<llvm::APFloat>().convertToDouble());
  return filled(exact == all_.exact.end() ? number : exact->second, domain,
                extents_.dimsOf(op));
}

/// The result of an operator: casts between floats are none in one domain.
Trial::Tensor Trial::evaluate(Operation *op, DType domain,
                              const Tensors &values) const {
  if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
    return this->constant(constant, domain);
  }
  std::vector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(values.lookup(operand));
  }
  Value result = op->getResult(0);
  DType type = typeOf(result, domain);
  if (llvm::isa<nn::CastOp>(op) && operands[0].type() == type) {
    return operands[0];
  }
  rt::Attributes attributes = toRuntimeAttributes(op);
  auto exact = all_.exact.find(op);
  if (llvm::isa<nn::AttentionOp>(op) && exact != all_.exact.end()) {
    Tensor scale = filled(exact->second, domain, {});
    Tensor queries = scale ? evaluateOp("nn.mul", {}, {operands[0], *scale},
                                        domain, operands[0].dims())
                           : scale;
    if (!queries) {
      return queries;
    }
    operands[0] = *queries;
    attributes.set("scale", 1.0);
  }
  return evaluateOp(op->getName().getStringRef().str(), attributes, operands,
                    type, extents_.dimsOf(result));
}

/// Whether two floats are equal up to rounding, or two of the field the same.
static bool areEqual(const HostTensor &a, const HostTensor &b) {
  if (a.type() == DType::Field) {
    return llvm::equal(a.as<FieldElement>(), b.as<FieldElement>());
  }
  return a.type() == DType::F64 &&
         llvm::equal(a.as<double>(), b.as<double>(), [](double x, double y) {
           double bound = 1e-9 * std::max(1.0, std::abs(x));
           return x == y || std::abs(x - y) <= bound ||
                  (std::isnan(x) && std::isnan(y));
         });
}

Status Trial::compare(DType domain, Hiding hiding) const {
  std::mt19937_64 random;
  Tensors values;
  for (Value leaf : leaves_) {
    Tensor drawn = draw(leaf, domain, hiding, random);
    if (!drawn) {
      return drawn.status();
    }
    values[leaf] = *drawn;
  }
  for (Operation *op : operators_) {
    Tensor result = evaluate(op, domain, values);
    if (!result) {
      return result.status();
    }
    values[op->getResult(0)] = *result;
  }
  if (!areEqual(values.lookup(all_.replaced), values.lookup(all_.by))) {
    return invalid(domain == DType::Field
                       ? "the replacement differs in the prime field"
                       : "the replacement differs in f64");
  }
  return Status();
}

Status divisi::checkReplacement(const Replacement &replacement) {
  Trial trial(replacement);
  Status status = trial.prepare();
  if (status.isOk() && !trial.isOrdered()) {
    status = trial.compare(DType::Field, Hiding::None);
  }
  for (Hiding hiding : {Hiding::Some, Hiding::All}) {
    status = status.isOk() ? trial.compare(DType::F64, hiding) : status;
  }
  return status;
}

Status divisi::replaceChecked(const Replacement &replacement) {
  Status status = checkReplacement(replacement);
  if (status.isOk()) {
    mlir::Value(replacement.replaced).replaceAllUsesWith(replacement.by);
    return status;
  }
  for (Operation *op : llvm::reverse(replacement.made)) {
    op->erase();
  }
  return status;
}
