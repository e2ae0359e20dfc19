//===- ImportSelect.cpp - Import of operators that choose elements --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many elements Compress, NonZero, Unique and NonMaxSuppression give
// depends on values. Where these are constants, so is the shape. Else there are
// as many as there can be, those that are chosen first, and a count
// (RowCounts.h); but for Unique.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

/// The attribute `axis` of a node with the operand `x`; without one 0, and `x`
/// becomes all its elements in one line.
static int64_t axisOrLine(NodeImporter &node, Tensor &x) {
  if (node.hasAttribute("axis")) {
    return node.normalizeAxis(node.getInt("axis"), x->rank());
  }
  x = node.emitter().reshape(x, {x->count()});
  return 0;
}

ChosenRows divisi::chooseRows(Emitter &emit, const Tensor &isChosen) {
  int64_t n = isChosen->dims[0];
  Tensor ones = emit.cast(isChosen, DType::I64);
  Tensor before = emit.emit("cumulate", {ones},
                            {{"axis", int64_t(0)},
                             {"kind", std::string("sum")},
                             {"exclusive", int64_t(1)},
                             {"reverse", int64_t(0)}},
                            DType::I64, {n});
  // What is not chosen goes behind all.
  Tensor to = emit.select(isChosen, before, emit.integer(n));
  Tensor zeros = emit.expand(emit.integer(0), {n + 1});
  Tensor all =
      emit.emit("scatter", {zeros, to, emit.iota(DType::I64, {n}, 0)},
                {{"batch_dims", int64_t(0)}, {"kind", std::string("set")}},
                DType::I64, {n + 1});
  return {emit.sliceAxis(all, 0, 0, n), emit.reduce("sum", ones, {0}, false)};
}

/// Of a condition that is computed at run time.
static void compressAtRun(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor x = node.input(0), condition = node.input(1);
  int64_t axis = axisOrLine(node, x);
  if (node.failed()) {
    return;
  }
  int64_t extent = x->dims[size_t(axis)];
  if (condition->rank() != 1 || condition->dims[0] > extent) {
    return node.invalid("got conditions of shape " +
                        formatInts(condition->dims) + " for an extent of " +
                        std::to_string(extent));
  }
  ChosenRows chosen = chooseRows(emit, condition);
  Tensor y = emit.gather(x, chosen.places, axis, 0);
  emit.countRows(y, axis, chosen.count);
  node.setResult(0, y);
}

/// Along an axis, or of all elements in one line.
static void importCompress(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor x = node.input(0);
  if (!emit.bytesOf(node.input(1)) && !node.failed()) {
    return compressAtRun(node);
  }
  auto condition = node.constantInts(1);
  if (!condition) {
    return;
  }
  int64_t axis = axisOrLine(node, x);
  if (node.failed()) {
    return;
  }
  auto extent = static_cast<size_t>(x->dims[static_cast<size_t>(axis)]);
  if (condition->size() > extent) {
    return node.invalid("got " + std::to_string(condition->size()) +
                        " conditions for an extent of " +
                        std::to_string(extent));
  }
  Ints chosen;
  for (size_t i = 0; i < condition->size(); ++i) {
    if ((*condition)[i] != 0) {
      chosen.push_back(static_cast<int64_t>(i));
    }
  }
  node.setResult(0, emit.gather(x, emit.ints(chosen), axis, 0));
}

/// Of elements that are computed at run time.
static void nonZeroAtRun(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t n = x->count();
  if (x->rank() == 0 || n == 0) {
    return node.unsupported("its input has the shape " + formatInts(x->dims) +
                            ", and is computed at run time");
  }
  Tensor line = emit.reshape(x, {n});
  ChosenRows chosen =
      chooseRows(emit, x->type == DType::Bool
                           ? line
                           : emit.compare("ne", line, emit.scalar(x->type, 0)));
  std::vector<Tensor> rows;
  int64_t stride = n;
  for (int64_t extent : x->dims) {
    stride = extent == 0 ? 0 : stride / extent;
    Tensor row = chosen.places;
    if (stride > 1) {
      row = emit.binary("div", row, emit.integer(stride));
    }
    if (!rows.empty() && extent > 0) {
      row =
          emit.binary("mod", row, emit.integer(extent), {{"fmod", int64_t(0)}});
    }
    rows.push_back(emit.reshape(row, {1, n}));
  }
  Tensor places = emit.concat(rows, 0);
  emit.countRows(places, 1, chosen.count);
  node.setResult(0, places);
}

/// The indices [rank, count], in row-major order.
static void importNonZero(NodeImporter &node) {
  Emitter &emit = node.emitter();
  if (!emit.bytesOf(node.input(0)) && !node.failed()) {
    return nonZeroAtRun(node);
  }
  auto x = node.constantTensor(0);
  if (!x) {
    return;
  }
  std::vector<Ints> places(x->dims().size());
  int64_t count = 0;
  for (int64_t i = 0; i < x->count(); ++i) {
    if (x->floatAt(i) == 0) {
      continue;
    }
    ++count;
    int64_t rest = i;
    for (size_t d = places.size(); d-- > 0;) {
      places[d].push_back(rest % x->dims()[d]);
      rest /= x->dims()[d];
    }
  }
  Ints all;
  for (const Ints &line : places) {
    all.insert(all.end(), line.begin(), line.end());
  }
  node.setResult(0, emit.reshape(emit.ints(all),
                                 {static_cast<int64_t>(places.size()), count}));
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {

/// Slices of a tensor along an axis, in lexicographic order.
class Slices {
public:
  Slices(const rt::HostTensor &tensor, int64_t axis) : tensor_(tensor) {
    const rt::Dims &dims = tensor.dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t &part = static_cast<int64_t>(d) < axis   ? outer_
                      : static_cast<int64_t>(d) > axis ? inner_
                                                       : count_;
      part *= dims[d];
    }
  }

  int64_t count() const { return count_; }
  /// Below 0 if slice `a` comes before slice `b`, 0 if they are equal.
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < inner_; ++i) {
        int order = compareElements((o * count_ + a) * inner_ + i,
                                    (o * count_ + b) * inner_ + i);
        if (order != 0) {
          return order;
        }
      }
    }
    return 0;
  }

private:
  int compareElements(int64_t a, int64_t b) const {
    if (rt::isFloatType(tensor_.type())) {
      double x = tensor_.floatAt(a), y = tensor_.floatAt(b);
      return x < y ? -1 : int(y < x);
    }
    int64_t x = tensor_.intAt(a), y = tensor_.intAt(b);
    bool isUnsigned = tensor_.type() == DType::U64;
    bool isLess = isUnsigned ? uint64_t(x) < uint64_t(y) : x < y;
    return isLess ? -1 : int(x != y);
  }

  const rt::HostTensor &tensor_;
  int64_t outer_ = 1, count_ = 1, inner_ = 1;
};

/// Equal slices: the first of them, and how many they are.
struct Group {
  int64_t first = 0, count = 0;
};

} // namespace

/// The groups of equal slices, sorted or as they first stand; `groupOf` gets
/// that of each slice.
static std::vector<Group> groupSlices(const Slices &slices, bool sorted,
                                      Ints &groupOf) {
  Ints order(static_cast<size_t>(slices.count()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return slices.compare(a, b) < 0;
  });
  std::vector<std::vector<int64_t>> members;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      members.emplace_back();
    }
    members.back().push_back(order[i]);
  }
  if (!sorted) {
    std::sort(members.begin(), members.end(),
              [](const Ints &a, const Ints &b) { return a[0] < b[0]; });
  }
  std::vector<Group> groups;
  groupOf.resize(order.size());
  for (const Ints &equal : members) {
    for (int64_t slice : equal) {
      groupOf[size_t(slice)] = static_cast<int64_t>(groups.size());
    }
    groups.push_back({equal[0], static_cast<int64_t>(equal.size())});
  }
  return groups;
}

static void importUnique(NodeImporter &node) {
  Emitter &emit = node.emitter();
  auto given = node.constantTensor(0);
  if (!given) {
    return;
  }
  Tensor x = node.input(0);
  int64_t axis = axisOrLine(node, x);
  if (node.failed()) {
    return;
  }
  *given = given->reshaped(x->dims);
  Ints groupOf, firsts, counts;
  for (const Group &group : groupSlices(
           Slices(*given, axis), node.getInt("sorted", 1) != 0, groupOf)) {
    firsts.push_back(group.first);
    counts.push_back(group.count);
  }
  node.setResult(0, emit.gather(x, emit.ints(firsts), axis, 0));
  node.setResult(1, emit.ints(firsts));
  node.setResult(2, emit.ints(groupOf));
  node.setResult(3, emit.ints(counts));
}

llvm::ArrayRef<ImporterRow> divisi::selectImporters() {
  static const ImporterRow kRows[] = {
      {"Compress", importCompress},
      {"NonZero", importNonZero},
      {"Unique", importUnique},
  };
  return kRows;
}
