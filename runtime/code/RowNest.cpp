//===- RowNest.cpp - Regions that are walked row by row -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/RowNest.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Per dimension of a value that of the results that it is, -1: of extent 1.
using Places = std::vector<int>;

/// Finds the nest of a region.
class NestFinder {
public:
  NestFinder(const CallSite &site, int64_t barrier);
  std::optional<RowNest> find();

private:
  bool placeResults();
  bool placeOperands(size_t part);
  bool placeTransposed(const RegionPart &part, const Places &places);
  bool place(int value, const Places &places);
  bool addRow(const RegionPart &part, const RowOperator &row,
              const Places &places);
  std::optional<std::vector<Dims>> groupDims() const;
  Dims storedDims(int value) const;
  bool joins(int64_t before, int64_t dim) const;
  std::optional<int64_t> strideOf(int value, int dim) const;

  const CallSite &site_;
  int64_t barrier_;
  std::vector<const TensorInfo *> infos_;     ///< Per value.
  std::vector<std::optional<Places>> places_; ///< Per value that is needed.
  std::vector<int> tensors_;                  ///< Values that are in memory.
  std::vector<bool> isRow_; ///< Per dimension: whether a row has all of it.
  bool hasRows_ = false;
};

} // namespace

static constexpr RowOperator rowOperators[] = {
    {"nn.normalize", "axes", false, 3},
    {"nn.softmax", "axis", true, 4},
};

const RowOperator *divisi::rt::findRowOperator(std::string_view op) {
  const auto *found = std::ranges::find(rowOperators, op, &RowOperator::op);
  return found == std::end(rowOperators) ? nullptr : found;
}

/// Whether its functions take many instructions, or read several tensors.
static bool isCostly(const RegionPart &part) {
  if (const RowOperator *row = findRowOperator(part.op)) {
    return row->isCostly;
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  return facts && facts->cost != FunctionCost::Few;
}

NestFinder::NestFinder(const CallSite &site, int64_t barrier)
    : site_(site), barrier_(barrier) {
  for (const TensorInfo &operand : site.operands) {
    tensors_.push_back(static_cast<int>(infos_.size()));
    infos_.push_back(&operand);
  }
  for (const RegionPart &part : site.region->parts) {
    for (const TensorInfo &result : part.results) {
      infos_.push_back(&result);
    }
  }
  for (size_t r = 0; r < site.results.size(); ++r) {
    int result = site.region->results[r];
    tensors_.push_back(result);
    infos_[result] = &site.results[r]; // which has a format
  }
  places_.resize(infos_.size());
  isRow_.resize(site.results[0].rank());
}

/// Says where `value` lies; false if it lies elsewhere, too, or is not the part
/// of it that the results are made of.
bool NestFinder::place(int value, const Places &places) {
  std::optional<Places> &known = places_[value];
  if (known) {
    return *known == places;
  }
  const TensorInfo &info = *infos_[value], &whole = site_.results[0];
  if (info.rank() != places.size()) {
    return false;
  }
  for (size_t d = 0; d < places.size(); ++d) {
    int at = places[d];
    if (at < 0 ? info.extents[d] != 1
               : info.extents[d] != whole.extents[at] ||
                     info.offset[d] != whole.offset[at]) {
      return false;
    }
  }
  known = places;
  return true;
}

/// All results are one box.
bool NestFinder::placeResults() {
  const TensorInfo &whole = site_.results[0];
  Places places;
  for (size_t d = 0; d < whole.rank(); ++d) {
    places.push_back(whole.global[d] == 1 ? -1 : static_cast<int>(d));
  }
  for (size_t r = 0; r < site_.results.size(); ++r) {
    const TensorInfo &result = site_.results[r];
    if (result.global != whole.global || result.format != whole.format ||
        !place(site_.region->results[r], places)) {
      return false;
    }
  }
  return isPlainOrChannelsLast(site_);
}

/// Notes the dimensions that `part` needs whole.
bool NestFinder::addRow(const RegionPart &part, const RowOperator &row,
                        const Places &places) {
  std::string name(row.axes);
  const auto *axis = part.attributes.find<int64_t>(name);
  Dims axes = axis ? Dims{*axis} : part.attributes.getInts(name);
  std::vector<bool> isRow(isRow_.size());
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(places.size())) {
      return false;
    }
    if (int at = places[axis]; at >= 0) {
      const TensorInfo &whole = site_.results[0];
      isRow[at] = true;
      if (whole.extents[at] != whole.global[at]) {
        return false;
      }
    }
  }
  bool isFirst = !std::exchange(hasRows_, true);
  if (isFirst) {
    isRow_ = isRow;
  }
  auto isThere = [](int at) { return at >= 0; };
  return isRow_ == isRow &&
         std::count_if(places.begin(), places.end(), isThere) ==
             std::count_if(site_.results[0].global.begin(),
                           site_.results[0].global.end(),
                           [](int64_t extent) { return extent != 1; });
}

/// Its operand lies where its result does, in another order.
bool NestFinder::placeTransposed(const RegionPart &part, const Places &places) {
  Dims order = part.attributes.getInts("permutation");
  Places at(places.size());
  std::vector<bool> isSeen(places.size());
  for (size_t d = 0; d < places.size(); ++d) {
    if (order.size() != places.size() || order[d] < 0 ||
        order[d] >= static_cast<int64_t>(places.size()) || isSeen[order[d]]) {
      return false;
    }
    isSeen[order[d]] = true;
    at[order[d]] = places[d];
  }
  return part.operands.size() == 1 && place(part.operands[0], at);
}

/// From where the result of `part` lies to where its operands do.
bool NestFinder::placeOperands(size_t number) {
  const RegionPart &part = site_.region->parts[number];
  int result = static_cast<int>(site_.operands.size() + number);
  if (!places_[result]) {
    return false; // nobody needs it
  }
  const Places places = *places_[result];
  const TensorInfo &made = *infos_[result];
  if (part.op == "nn.transpose") {
    return placeTransposed(part, places);
  }
  const RowOperator *row = findRowOperator(part.op);
  if (row ? !addRow(part, *row, places) : !isElementwise(part.op)) {
    return false;
  }
  for (int value : part.operands) {
    const TensorInfo &operand = *infos_[value];
    if (operand.rank() > made.rank() ||
        (row && operand.rank() != made.rank())) {
      return false;
    }
    Places at(operand.rank(), -1);
    size_t missing = made.rank() - operand.rank();
    for (size_t d = 0; d < at.size(); ++d) {
      if (operand.global[d] == made.global[missing + d]) {
        at[d] = places[missing + d];
      }
    }
    if (!place(value, at)) {
      return false;
    }
  }
  return true;
}

/// How far apart elements of the value are that are neighbours along `dim` of
/// the results; nothing if it has no such dimension.
std::optional<int64_t> NestFinder::strideOf(int value, int dim) const {
  const Places &places = *places_[value];
  auto at = std::find(places.begin(), places.end(), dim);
  return at == places.end()
             ? std::nullopt
             : std::optional(stridesOf(*infos_[value])[at - places.begin()]);
}

/// The dimensions of the results that a value has, in the order in which it is
/// stored.
Dims NestFinder::storedDims(int value) const {
  Dims dims;
  for (int64_t d : storedOrder(*infos_[value])) {
    if (int at = (*places_[value])[d]; at >= 0) {
      dims.push_back(at);
    }
  }
  return dims;
}

/// Whether one index can count both dimensions, `dim` being the inner one:
/// extents, which differ from rank to rank, do not matter.
bool NestFinder::joins(int64_t before, int64_t dim) const {
  return dim != barrier_ && isRow_[before] == isRow_[dim] &&
         std::all_of(tensors_.begin(), tensors_.end(), [&](int value) {
           Dims dims = storedDims(value);
           auto outer = std::find(dims.begin(), dims.end(), before);
           auto inner = std::find(dims.begin(), dims.end(), dim);
           return outer == dims.end()
                      ? inner == dims.end()
                      : inner == outer + 1 && inner != dims.end();
         });
}

/// The dimensions of the results, the innermost last, in groups.
std::optional<std::vector<Dims>> NestFinder::groupDims() const {
  const TensorInfo &whole = site_.results[0];
  std::vector<Dims> groups;
  for (int64_t d : storedOrder(whole)) {
    if (whole.global[d] == 1) {
      continue;
    }
    if (groups.empty() || !joins(groups.back().back(), d)) {
      groups.emplace_back();
    }
    groups.back().push_back(d);
  }
  for (size_t g = 0; hasRows_ && g < groups.size(); ++g) {
    if (isRow_[groups[g].back()] != (g + 1 == groups.size())) {
      return std::nullopt; // rows are not what lies side by side
    }
  }
  return hasRows_ && groups.empty() ? std::nullopt : std::optional(groups);
}

std::optional<RowNest> NestFinder::find() {
  if (!placeResults()) {
    return std::nullopt;
  }
  for (size_t p = site_.region->parts.size(); p-- > 0;) {
    if (!placeOperands(p)) {
      return std::nullopt;
    }
  }
  auto groups = groupDims();
  bool isUsed = std::all_of(tensors_.begin(), tensors_.end(),
                            [&](int value) { return bool(places_[value]); });
  if (!groups || !isUsed) {
    return std::nullopt;
  }
  RowNest nest;
  nest.hasRowOperators = hasRows_;
  for (const RegionPart &part : site_.region->parts) {
    nest.scratchRows += hasRows_ && isCostly(part);
  }
  for (const Dims &group : *groups) {
    int64_t extent = 1;
    for (int64_t d : group) {
      extent *= site_.results[0].extents[d];
    }
    if (group.front() == barrier_) {
      nest.barrierGroup = nest.extents.size();
    }
    nest.extents.push_back(extent);
  }
  for (int value : tensors_) {
    RowNest::Tensor &tensor =
        nest.tensors.emplace_back(value, infos_[value]->type, Dims());
    for (const Dims &group : *groups) {
      tensor.strides.push_back(
          strideOf(value, static_cast<int>(group.back())).value_or(0));
    }
    Dims dims = storedDims(value);
    bool moves = !groups->empty() &&
                 std::find(dims.begin(), dims.end(), groups->back().back()) !=
                     dims.end();
    if (moves && dims.back() != groups->back().back()) {
      return std::nullopt; // not side by side
    }
    if (moves) {
      tensor.strides.back() = 1;
    }
  }
  if (groups->empty()) { // one element
    nest.extents.push_back(1);
    for (RowNest::Tensor &tensor : nest.tensors) {
      tensor.strides.push_back(1);
    }
  }
  return nest;
}

std::optional<RowNest> RowNest::of(const CallSite &site, int64_t barrier) {
  bool hasOneResultEach =
      site.region && !site.results.empty() &&
      std::all_of(site.region->parts.begin(), site.region->parts.end(),
                  [](const RegionPart &part) {
                    return part.results.size() == 1 && !part.operands.empty();
                  });
  return hasOneResultEach ? NestFinder(site, barrier).find() : std::nullopt;
}

int64_t RowNest::rows() const {
  int64_t rows = 1;
  for (size_t g = 0; g + 1 < extents.size(); ++g) {
    rows *= extents[g];
  }
  return rows;
}
