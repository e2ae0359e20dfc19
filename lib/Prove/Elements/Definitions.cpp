//===- Definitions.cpp - Elements of moves, products and folds ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/CaseSplits.h"
#include "lib/Prove/Elements/Labels.h"

#include <algorithm>
#include <cmath>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// A product in a contraction.
Sum SymbolicEvaluator::times(const Sum &left, const Sum &right,
                             const std::string &type) {
  if (!isFloat(type)) {
    return left * right;
  }
  SymbolicCall product;
  product.op = "mul";
  product.element = type;
  if (context_.reading == Reading::Bits) {
    return byCases({left, right}, [&](const std::vector<Sum> &x) {
      return *bitsOfProduct("mul", "contracted " + type, x);
    });
  }
  auto made = beyondNumbers(product, {left, right});
  return made ? *made : left * right;
}

Sum SymbolicEvaluator::matmul(const SymbolicCall &call, const Index &index) {
  std::vector<std::string> letters =
      lettersOf(std::get<std::string>(attribute(call, "labels")));
  ByLetter places = byLetters(letters.back(), index);
  std::string summed;
  Index extents, left = shape(call.operands[0]);
  for (size_t i = 0; i != letters[0].size(); ++i) {
    if (!places.count(letters[0][i])) {
      summed += letters[0][i];
      extents.push_back(left[i]);
    }
  }
  return foldAll(extents, foldOf("sum", call), [&](const Index &at) {
    for (size_t i = 0; i != summed.size(); ++i) {
      places[summed[i]] = at[i];
    }
    return times(widened(call, 0, inOrder(letters[0], places)),
                 widened(call, 1, inOrder(letters[1], places)), call.element);
  });
}

Sum SymbolicEvaluator::reduce(const SymbolicCall &call, const Index &index) {
  std::vector<size_t> axes = dimList(call, "axes");
  Index extents, all = shape(call.operands[0]);
  for (size_t axis : axes) {
    extents.push_back(all[axis]);
  }
  const std::string &kind = std::get<std::string>(attribute(call, "kind"));
  return foldAll(extents, foldOf(kind, call), [&](const Index &at) {
    Index place;
    size_t next = 0, kept = 0;
    for (size_t dim = 0; dim != all.size(); ++dim) {
      bool isFolded = next != axes.size() && axes[next] == dim;
      place.push_back(isFolded ? at[next++] : index[kept++]);
    }
    return widened(call, 0, place);
  });
}

/// The elements up to one along an axis, or from it on.
Sum SymbolicEvaluator::cumulate(const SymbolicCall &call, const Index &index) {
  size_t axis = size_t(number(call, "axis"));
  bool isReverse = std::get<bool>(attribute(call, "reverse"));
  bool isExclusive = std::get<bool>(attribute(call, "exclusive"));
  const std::string &kind = std::get<std::string>(attribute(call, "kind"));
  Polynomial extent = shape(call.operands[0])[axis], at = index[axis];
  Polynomial first(isReverse ? at + Polynomial(isExclusive ? 1 : 0)
                             : Polynomial(0));
  Polynomial count =
      isReverse ? extent - first : at + Polynomial(isExclusive ? 0 : 1);
  return fold(count, foldOf(kind, call), [&](const Polynomial &each) {
    Index place = index;
    place[axis] = first + each;
    return widened(call, 0, place);
  });
}

/// A place in x[n, (g c), i...] for one of w[(g m), c, k...].
Sum SymbolicEvaluator::conv(const SymbolicCall &call, const Index &index) {
  Index x = shape(call.operands[0]), w = shape(call.operands[1]);
  Index strides = list(call, "strides"), dilations = list(call, "dilations");
  Index lo = list(call, "pads_lo"), hi = list(call, "pads_hi");
  Polynomial groups = integer(std::get<Expr>(attribute(call, "groups")));
  FactScope scope(facts_);
  Polynomial group(0);
  if (!divideExactly(w[0], groups) && w[0].atom()) {
    throw SplitMultiple{w[0].atom(), groups};
  }
  if (groups.number() != 1) {
    group = divideIndex(index[1], quotientOf(w[0], groups)).quotient;
  }
  Index extents(w.begin() + 1, w.end());
  for (size_t i = 0; i != strides.size(); ++i) {
    // The last window fits.
    facts_.push(x[i + 2] + lo[i] + hi[i] - Polynomial(1) -
                    index[i + 2] * strides[i] -
                    (w[i + 2] - Polynomial(1)) * dilations[i],
                Facts::Relation::AtLeast);
  }
  return foldAll(extents, foldOf("sum", call), [&](const Index &at) {
    Index place{index[0], group * w[1] + at[0]}, weight{index[1], at[0]};
    std::vector<Polynomial> conditions;
    for (size_t i = 0; i != strides.size(); ++i) {
      Polynomial each =
          index[i + 2] * strides[i] + at[i + 1] * dilations[i] - lo[i];
      conditions.push_back(each);
      conditions.push_back(x[i + 2] - Polynomial(1) - each);
      place.push_back(each);
      weight.push_back(at[i + 1]);
    }
    return insideWindow(
        conditions,
        [&] {
          return times(widened(call, 0, place), widened(call, 1, weight),
                       call.element);
        },
        Sum());
  });
}

Sum SymbolicEvaluator::pool(const SymbolicCall &call, const Index &index) {
  Index x = shape(call.operands[0]), kernel = list(call, "kernel");
  Index strides = list(call, "strides"), dilations = list(call, "dilations");
  Index lo = list(call, "pads_lo"), hi = list(call, "pads_hi");
  bool isSum = call.op == "pool_sum";
  FactScope scope(facts_);
  for (size_t i = 0; i != strides.size(); ++i) {
    facts_.push(x[i] + lo[i] + hi[i] - Polynomial(1) - index[i] * strides[i] -
                    (kernel[i] - Polynomial(1)) * dilations[i],
                Facts::Relation::AtLeast);
  }
  Sum outside = isSum ? Sum()
                : isFloat(call.element)
                    ? numberOf(-INFINITY)
                    : realOf("the least " + typeOf(call.operands[0]), false);
  return foldAll(
      kernel, foldOf(isSum ? "sum" : "max", call), [&](const Index &at) {
        Index place;
        std::vector<Polynomial> conditions;
        for (size_t i = 0; i != strides.size(); ++i) {
          place.push_back(index[i] * strides[i] + at[i] * dilations[i] - lo[i]);
          conditions.push_back(place.back());
          conditions.push_back(x[i] - Polynomial(1) - place.back());
        }
        return insideWindow(
            conditions, [&] { return widened(call, 0, place); }, outside);
      });
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

Sum SymbolicEvaluator::transpose(const SymbolicCall &call, const Index &index) {
  Index place(index.size());
  std::vector<size_t> permutation = dimList(call, "permutation");
  for (size_t dim = 0; dim != permutation.size(); ++dim) {
    place[permutation[dim]] = index[dim];
  }
  return at(call.operands[0], place);
}

Sum SymbolicEvaluator::slice(const SymbolicCall &call, const Index &index) {
  Index starts = list(call, "starts"), steps = list(call, "steps"), place;
  Index x = shape(call.operands[0]);
  FactScope scope(facts_);
  for (size_t dim = 0; dim != index.size(); ++dim) {
    place.push_back(starts[dim] + index[dim] * steps[dim]);
    facts_.push(place.back(), Facts::Relation::AtLeast);
    facts_.push(x[dim] - Polynomial(1) - place.back(),
                Facts::Relation::AtLeast);
  }
  return at(call.operands[0], place);
}

/// What a pad adds, as the elements' type has it.
Sum SymbolicEvaluator::padded(const SymbolicCall &call) {
  SymbolicCall value;
  value.element = call.element;
  value.attributes["element"] = attribute(call, "value");
  return splat(value);
}

Sum SymbolicEvaluator::pad(const SymbolicCall &call, const Index &index) {
  Index lo = list(call, "lo"), hi = list(call, "hi"), place;
  Index x = shape(call.operands[0]);
  std::vector<Polynomial> conditions;
  for (size_t dim = 0; dim != index.size(); ++dim) {
    place.push_back(index[dim] - lo[dim]);
    if (lo[dim].number() != 0) {
      conditions.push_back(place.back());
    }
    if (hi[dim].number() != 0) {
      conditions.push_back(x[dim] - Polynomial(1) - place.back());
    }
  }
  return inside(
      conditions, [&] { return at(call.operands[0], place); }, padded(call));
}

Sum SymbolicEvaluator::concat(const SymbolicCall &call, const Index &index) {
  size_t axis = size_t(number(call, "axis"));
  Index place = index;
  for (size_t i = 0; i + 1 != call.operands.size(); ++i) {
    Polynomial extent = shape(call.operands[i])[axis];
    if (isKnown(extent - Polynomial(1) - place[axis])) {
      return at(call.operands[i], place);
    }
    place[axis] = place[axis] - extent;
  }
  return at(call.operands.back(), place);
}

Sum SymbolicEvaluator::broadcast(const SymbolicCall &call, const Index &index) {
  std::vector<size_t> dims = dimList(call, "dims");
  // Those of the operand are aligned with such dims of the result.
  Index aligned, wanted, extents = shapeOf(call);
  for (size_t dim : dims) {
    aligned.push_back(index[dim]);
    wanted.push_back(extents[dim]);
  }
  return at(call.operands[0], operandIndex(call.operands[0], aligned, wanted));
}

/// Which of these extents are not 1.
static std::vector<size_t> longDims(const Index &extents) {
  std::vector<size_t> result;
  for (size_t dim = 0; dim != extents.size(); ++dim) {
    if (extents[dim].number() != 1) {
      result.push_back(dim);
    }
  }
  return result;
}

/// Both shapes fall into runs of dims with as many elements; in each, the index
/// in row-major order is that of the other's dims.
Sum SymbolicEvaluator::reshape(size_t value, const Index &index) {
  size_t operand = call(value).operands[0];
  // What is between has the same elements in the same order.
  while (operand >= rule_.variables.size() && call(operand).op == "reshape") {
    operand = call(operand).operands[0];
  }
  Index from = shape(operand), to = shape(value);
  Index place(from.size(), Polynomial(0));
  std::vector<size_t> own = longDims(from), others = longDims(to);
  size_t i = own.size(), j = others.size();
  while (i != 0 || j != 0) {
    size_t iEnd = i, jEnd = j;
    Polynomial one(i == 0 ? Polynomial(1) : from[own[--i]]);
    Polynomial other(j == 0 ? Polynomial(1) : to[others[--j]]);
    while (!(one == other) && (i != 0 || j != 0)) {
      if (i != 0 && (j == 0 || divideExactly(other, one))) {
        one = one * from[own[--i]];
      } else {
        other = other * to[others[--j]];
      }
    }
    Polynomial flat(0);
    for (size_t at = j; at != jEnd; ++at) {
      flat = flat * to[others[at]] + index[others[at]];
    }
    for (size_t at = iEnd; at != i; --at) {
      size_t dim = own[at - 1];
      if (at - 1 == i) {
        place[dim] = flat;
        break;
      }
      Division division = divideIndex(flat, from[dim]);
      place[dim] = division.remainder;
      flat = division.quotient;
    }
  }
  return at(operand, place);
}

//===----------------------------------------------------------------------===//
// Rows by number
//===----------------------------------------------------------------------===//

/// An index that counts from the end if it is negative.
static Sum wrapped(const Sum &index, const Polynomial &extent) {
  return functionOf("wrapped", {index, numberOf(extent)});
}

Sum SymbolicEvaluator::gather(const SymbolicCall &call, const Index &index) {
  size_t axis = size_t(number(call, "axis"));
  size_t batch = size_t(number(call, "batch_dims"));
  Index data = shape(call.operands[0]);
  size_t own = shape(call.operands[1]).size() - batch;
  Index row(index.begin(), index.begin() + ptrdiff_t(batch));
  row.insert(row.end(), index.begin() + ptrdiff_t(axis),
             index.begin() + ptrdiff_t(axis + own));
  Polynomial at =
      integerOf(this->at(call.operands[1], row), typeOf(call.operands[1]));
  if (!facts_.isAtLeastZero(at)) {
    at = Polynomial(elementAtom(wrapped(numberOf(at), data[axis])));
  }
  Index place(index.begin(), index.begin() + ptrdiff_t(axis));
  place.push_back(at);
  place.insert(place.end(), index.begin() + ptrdiff_t(axis + own), index.end());
  return this->at(call.operands[0], place);
}

Sum SymbolicEvaluator::takeAlong(const SymbolicCall &call, const Index &index) {
  size_t axis = size_t(number(call, "axis"));
  Polynomial at =
      integerOf(this->at(call.operands[1], index), typeOf(call.operands[1]));
  if (!facts_.isAtLeastZero(at)) {
    at = Polynomial(
        elementAtom(wrapped(numberOf(at), shape(call.operands[0])[axis])));
  }
  Index place = index;
  place[axis] = at;
  return this->at(call.operands[0], place);
}

/// A slice of another tensor at a place that an element says.
Sum SymbolicEvaluator::insert(const SymbolicCall &call, const Index &index) {
  size_t axis = size_t(number(call, "axis"));
  Polynomial extent = shape(call.operands[1])[axis];
  Polynomial last = shape(call.operands[0])[axis] - extent;
  Polynomial at =
      integerOf(this->at(call.operands[2], {}), typeOf(call.operands[2]));
  if (last.number() == 0) {
    at = Polynomial(0);
  } else if (!facts_.isAtLeastZero(at)) {
    at = Polynomial(elementAtom(wrapped(numberOf(at), last + Polynomial(1))));
  }
  FactScope scope(facts_);
  facts_.push(at, Facts::Relation::AtLeast);
  facts_.push(last - at, Facts::Relation::AtLeast);
  Index place = index;
  place[axis] = index[axis] - at;
  return isKnown(place[axis]) && isKnown(extent - Polynomial(1) - place[axis])
             ? this->at(call.operands[1], place)
             : this->at(call.operands[0], index);
}
