//===- Factors.cpp - Operators on dims that fall into factors -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How operators implement UnflattenInterface. `conv` does not: it keeps its
// form, and so does whatever operator is new.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Factors.h"

#include "dialects/NN/NN.h"
#include "divisi/Support/Labels.h"

#include <map>

using namespace mlir;

namespace divisi::nn {

using Shape = FactoredForm::Shape;

static ArrayRef<int64_t> shapeIn(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Shape Factors::shapeOf(Value value) const {
  Shape shape;
  for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
    llvm::append_range(shape, of(value, dim));
  }
  return shape;
}

int64_t Factors::position(Value value, unsigned dim) const {
  int64_t at = 0;
  for (unsigned i = 0; i < dim; ++i) {
    at += int64_t(of(value, i).size());
  }
  return at;
}

SmallVector<int64_t> Factors::positions(Value value,
                                        ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) {
    int64_t at = position(value, unsigned(dim));
    for (size_t i = of(value, unsigned(dim)).size(); i > 0; --i) {
      result.push_back(at++);
    }
  }
  return result;
}

SmallVector<int64_t> Factors::spread(Value value, ArrayRef<int64_t> entries,
                                     int64_t idle) const {
  SmallVector<int64_t> result;
  for (auto [dim, entry] : llvm::enumerate(entries)) {
    size_t count = of(value, unsigned(dim)).size();
    result.append(count, count == 1 ? entry : idle);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Parts of forms
//===----------------------------------------------------------------------===//

/// All dims of operands and result taken apart.
static FactoredForm plainForm(Operation *op, const Factors &factors) {
  FactoredForm form;
  for (Value operand : op->getOperands()) {
    form.operands.push_back(factors.shapeOf(operand));
  }
  if (op->getNumResults() == 1) {
    form.result = factors.shapeOf(op->getResult(0));
  }
  return form;
}

static void set(FactoredForm &form, Operation *op, StringRef name,
                int64_t value) {
  Builder builder(op->getContext());
  form.attributes.push_back(
      builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
}

static void set(FactoredForm &form, Operation *op, StringRef name,
                ArrayRef<int64_t> values) {
  Builder builder(op->getContext());
  form.attributes.push_back(
      builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values)));
}

/// An operand that broadcasts gets a 1 for each factor that it does not have.
FactoredForm elementwiseForm(Operation *op, const Factors &factors) {
  FactoredForm form;
  Value result = op->getResult(0);
  size_t rank = shapeIn(result).size();
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> own = shapeIn(operand);
    Shape &shape = form.operands.emplace_back();
    for (size_t i = 0; i < own.size(); ++i) {
      unsigned to = unsigned(rank - own.size() + i);
      Shape wide = factors.of(result, to);
      if (own[i] == 1 && shapeIn(result)[to] != 1) {
        shape.append(wide.size(), 1);
      } else if (wide.size() == 1) {
        shape.push_back(own[i]); // A scale of blocks has fewer.
      } else {
        llvm::append_range(shape, wide);
      }
    }
  }
  form.result = factors.shapeOf(result);
  return form;
}

//===----------------------------------------------------------------------===//
// Globals and constants
//===----------------------------------------------------------------------===//

void ReadOp::tieDims(DimTies &ties) { ties.tieGlobal(getGlobal(), getValue()); }

std::optional<FactoredForm> ReadOp::getFactoredForm(const Factors &factors) {
  return plainForm(*this, factors);
}

void UpdateOp::tieDims(DimTies &ties) {
  ties.tieGlobal(getGlobal(), getValue());
}

std::optional<FactoredForm> UpdateOp::getFactoredForm(const Factors &factors) {
  return plainForm(*this, factors);
}

void ConstantOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm>
ConstantOp::getFactoredForm(const Factors &factors) {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value) {
    return std::nullopt;
  }
  FactoredForm form = plainForm(*this, factors);
  auto type = RankedTensorType::get(form.result, value.getElementType());
  form.attributes.emplace_back("value", value.reshape(type));
  return form;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

void MatmulOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

/// One letter per factor: the label's own for the first, fresh ones for the
/// others.
std::optional<FactoredForm> MatmulOp::getFactoredForm(const Factors &factors) {
  StringRef labels = getLabels();
  std::string fresh;
  for (char c : StringRef("abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    if (!labels.contains(c)) {
      fresh.push_back(c);
    }
  }
  size_t used = 0;
  std::map<char, std::string> letters;
  auto assign = [&](StringRef term, Value value) {
    for (auto [dim, label] : llvm::enumerate(term)) {
      std::string &own = letters[label];
      size_t count = factors.of(value, unsigned(dim)).size();
      if (own.empty()) {
        own = label;
        while (own.size() < count && used < fresh.size()) {
          own.push_back(fresh[used++]);
        }
      }
      if (own.size() != count) {
        return false;
      }
    }
    return true;
  };
  std::vector<std::string_view> parts = splitLabels(labels);
  if (!assign(parts[0], getA()) || !assign(parts[1], getB())) {
    return std::nullopt;
  }
  std::string spelled;
  for (char c : labels) {
    // The arrow's characters are no letters.
    spelled += letters.count(c) ? letters[c] : std::string(1, c);
  }
  FactoredForm form = plainForm(*this, factors);
  form.attributes.emplace_back("labels",
                               StringAttr::get(getContext(), spelled));
  return form;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void TransposeOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm>
TransposeOp::getFactoredForm(const Factors &factors) {
  FactoredForm form = plainForm(*this, factors);
  set(form, *this, "permutation", factors.positions(getX(), getPermutation()));
  return form;
}

void BroadcastOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm>
BroadcastOp::getFactoredForm(const Factors &factors) {
  SmallVector<int64_t> dims;
  for (auto [from, to] : llvm::enumerate(getDims())) {
    int64_t at = factors.position(getY(), unsigned(to));
    for (size_t i = factors.of(getX(), unsigned(from)).size(); i > 0; --i) {
      dims.push_back(at++);
    }
  }
  FactoredForm form = plainForm(*this, factors);
  set(form, *this, "dims", dims);
  return form;
}

void SliceOp::tieDims(DimTies &ties) {
  Value whole = getX(), part = getY();
  for (unsigned dim = 0; dim < shapeIn(whole).size(); ++dim) {
    if (getSteps()[dim] != 1 || shapeIn(part)[dim] == 0) {
      ties.keepWhole(whole, dim);
      ties.keepWhole(part, dim);
    } else if (shapeIn(part)[dim] == shapeIn(whole)[dim]) {
      ties.tie(whole, dim, part, dim);
    } else {
      ties.cutOut(whole, dim, part, getStarts()[dim], getLimits()[dim]);
    }
  }
}

/// Starts and limits count the major factor of a dim that is cut.
std::optional<FactoredForm> SliceOp::getFactoredForm(const Factors &factors) {
  Shape starts, limits, steps, result;
  auto push = [&](int64_t start, int64_t limit, int64_t step, int64_t extent) {
    starts.push_back(start);
    limits.push_back(limit);
    steps.push_back(step);
    result.push_back(extent);
  };
  for (unsigned dim = 0; dim < shapeIn(getX()).size(); ++dim) {
    Shape whole = factors.of(getX(), dim), part = factors.of(getY(), dim);
    int64_t start = getStarts()[dim], limit = getLimits()[dim];
    int64_t step = getSteps()[dim], extent = shapeIn(getX())[dim];
    if (whole.size() == 1 && part.size() == 1) {
      push(start, limit, step, part.front());
      continue;
    }
    int64_t unit = extent / whole.front();
    bool isAll = step == 1 && limit - start == extent;
    Shape expected(llvm::drop_begin(whole));
    if (limit - start != unit) {
      expected.insert(expected.begin(), (limit - start) / unit);
    }
    if (!isAll && (step != 1 || start % unit != 0 || limit % unit != 0 ||
                   expected != part)) {
      return std::nullopt;
    }
    push(start / unit, limit / unit, 1, (limit - start) / unit);
    for (int64_t factor : llvm::drop_begin(whole)) {
      push(0, factor, 1, factor);
    }
  }
  FactoredForm form = plainForm(*this, factors);
  form.result = result;
  set(form, *this, "starts", starts);
  set(form, *this, "limits", limits);
  set(form, *this, "steps", steps);
  return form;
}

void ConcatOp::tieDims(DimTies &ties) {
  for (unsigned dim = 0; dim < shapeIn(getY()).size(); ++dim) {
    if (int64_t(dim) == getAxis()) {
      ties.join(getY(), dim, getXs());
      continue;
    }
    for (Value x : getXs()) {
      ties.tie(getY(), dim, x, dim);
    }
  }
}

/// Joins major factors; the minor ones are common to all operands.
std::optional<FactoredForm> ConcatOp::getFactoredForm(const Factors &factors) {
  unsigned axis = unsigned(getAxis());
  Shape whole = factors.of(getY(), axis);
  int64_t unit = whole.size() == 1 ? 1 : shapeIn(getY())[axis] / whole.front();
  int64_t at = factors.position(getY(), axis);
  FactoredForm form;
  for (Value x : getXs()) {
    int64_t extent = shapeIn(x)[axis];
    Shape part = factors.of(x, axis);
    Shape minor(llvm::drop_begin(whole)), expected = minor;
    if (extent != unit || whole.size() == 1) {
      expected.insert(expected.begin(), extent / unit);
    }
    if (extent % unit != 0 || part != expected) {
      return std::nullopt;
    }
    Shape &shape = form.operands.emplace_back(factors.shapeOf(x));
    shape.erase(shape.begin() + at, shape.begin() + at + part.size());
    minor.insert(minor.begin(), extent / unit);
    shape.insert(shape.begin() + at, minor.begin(), minor.end());
  }
  form.result = factors.shapeOf(getY());
  set(form, *this, "axis", at);
  return form;
}

//===----------------------------------------------------------------------===//
// Windows: only the dims that nothing slides over fall into factors
//===----------------------------------------------------------------------===//

void PadOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> PadOp::getFactoredForm(const Factors &factors) {
  FactoredForm form = plainForm(*this, factors);
  set(form, *this, "lo", factors.spread(getX(), getLo(), 0));
  set(form, *this, "hi", factors.spread(getX(), getHi(), 0));
  return form;
}

template <typename OpT>
static FactoredForm poolForm(OpT op, const Factors &factors) {
  FactoredForm form = plainForm(op, factors);
  Value x = op.getX();
  set(form, op, "kernel", factors.spread(x, op.getKernel(), 1));
  set(form, op, "strides", factors.spread(x, op.getStrides(), 1));
  set(form, op, "dilations", factors.spread(x, op.getDilations(), 1));
  set(form, op, "pads_lo", factors.spread(x, op.getPadsLo(), 0));
  set(form, op, "pads_hi", factors.spread(x, op.getPadsHi(), 0));
  return form;
}

void PoolMaxOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> PoolMaxOp::getFactoredForm(const Factors &factors) {
  return poolForm(*this, factors);
}

void PoolSumOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> PoolSumOp::getFactoredForm(const Factors &factors) {
  return poolForm(*this, factors);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

void ReduceOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> ReduceOp::getFactoredForm(const Factors &factors) {
  FactoredForm form = plainForm(*this, factors);
  set(form, *this, "axes", factors.positions(getX(), getAxes()));
  return form;
}

/// It names a list of axes, so each may be several.
void NormalizeOp::tieDims(DimTies &ties) {
  ties.tieLoops(*this, /*splitsExchange=*/true);
}

std::optional<FactoredForm>
NormalizeOp::getFactoredForm(const Factors &factors) {
  FactoredForm form = plainForm(*this, factors);
  set(form, *this, "axes", factors.positions(getX(), getAxes()));
  return form;
}

/// The form of an operator with an attribute `axis`, a dim of `indexed`.
static FactoredForm axisForm(Operation *op, Value indexed, int64_t axis,
                             const Factors &factors) {
  FactoredForm form = plainForm(op, factors);
  set(form, op, "axis", factors.position(indexed, unsigned(axis)));
  return form;
}

void SoftmaxOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> SoftmaxOp::getFactoredForm(const Factors &factors) {
  return axisForm(*this, getX(), getAxis(), factors);
}

/// One index runs along its axis.
void IotaOp::tieDims(DimTies &ties) {
  ties.tieLoops(*this);
  ties.keepWhole(getY(), unsigned(getAxis()));
}

std::optional<FactoredForm> IotaOp::getFactoredForm(const Factors &factors) {
  return axisForm(*this, getY(), getAxis(), factors);
}

void GatherOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm> GatherOp::getFactoredForm(const Factors &factors) {
  FactoredForm form = axisForm(*this, getData(), getAxis(), factors);
  set(form, *this, "batch_dims",
      factors.position(getData(), unsigned(getBatchDims())));
  return form;
}

/// One index runs along its axis.
void TakeAlongOp::tieDims(DimTies &ties) {
  ties.tieLoops(*this);
  ties.keepWhole(getY(), unsigned(getAxis()));
}

std::optional<FactoredForm>
TakeAlongOp::getFactoredForm(const Factors &factors) {
  return axisForm(*this, getData(), getAxis(), factors);
}

/// One offset counts along its axis.
void InsertOp::tieDims(DimTies &ties) {
  ties.tieLoops(*this);
  ties.keepWhole(getY(), unsigned(getAxis()));
  ties.keepWhole(getSlice(), unsigned(getAxis()));
}

std::optional<FactoredForm> InsertOp::getFactoredForm(const Factors &factors) {
  return axisForm(*this, getX(), getAxis(), factors);
}

void ResampleOp::tieDims(DimTies &ties) { ties.tieLoops(*this); }

std::optional<FactoredForm>
ResampleOp::getFactoredForm(const Factors &factors) {
  return axisForm(*this, getX(), getAxis(), factors);
}

} // namespace divisi::nn
