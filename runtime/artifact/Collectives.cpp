//===- Collectives.cpp - Collectives, as each rank sees them --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Collectives.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

using namespace divisi;
using namespace divisi::rt;

namespace {

struct KindName {
  std::string_view name;
  CollectiveKind kind;
};

} // namespace

static constexpr std::array<KindName, 7> kindNames = {
    {{"slice", CollectiveKind::Slice},
     {"mask", CollectiveKind::Mask},
     {"all_gather", CollectiveKind::Move},
     {"all_to_all", CollectiveKind::Move},
     {"exchange", CollectiveKind::Move},
     {"all_reduce", CollectiveKind::AllReduce},
     {"reduce_scatter", CollectiveKind::ReduceScatter}}};

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

std::optional<CollectiveKind>
divisi::rt::parseCollectiveKind(std::string_view name) {
  for (const KindName &row : kindNames) {
    if (row.name == name) {
      return row.kind;
    }
  }
  return std::nullopt;
}

bool divisi::rt::isLocal(CollectiveKind kind) {
  return kind == CollectiveKind::Slice || kind == CollectiveKind::Mask;
}

static bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

/// Whether `whole` is `part` and `axes` together, without a common axis.
static bool isSum(const std::vector<uint32_t> &whole,
                  const std::vector<uint32_t> &part,
                  std::span<const uint32_t> axes) {
  std::vector<uint32_t> sum = part;
  sum.insert(sum.end(), axes.begin(), axes.end());
  std::sort(sum.begin(), sum.end());
  return sum == whole;
}

static Status checkPartial(CollectiveKind kind, std::span<const uint32_t> axes,
                           const Placement &source, const Placement &result) {
  bool isRight = false;
  if (reduces(kind)) {
    isRight = isSum(source.partialAxes, result.partialAxes, axes);
  } else if (kind == CollectiveKind::Mask) {
    isRight = isSum(result.partialAxes, source.partialAxes, axes);
  } else {
    // Summands of different positions are not interchangeable.
    isRight = source.partialAxes == result.partialAxes &&
              std::none_of(axes.begin(), axes.end(), [&](uint32_t axis) {
                return std::count(source.partialAxes.begin(),
                                  source.partialAxes.end(), axis) != 0;
              });
  }
  bool sameKind = !source.isPartial() || !result.isPartial() ||
                  source.partialKind == result.partialKind;
  if (!isRight || !sameKind) {
    return invalid("the partial axes of source and result do not fit its kind");
  }
  return {};
}

/// Whether position `p` gets its box of the result.
static Status checkBoxes(const GridInfo &grid, CollectiveKind kind,
                         std::span<const uint32_t> axes,
                         const Placement &source, const Placement &result,
                         size_t p) {
  const Box &wanted = result.boxes[p];
  if (kind != CollectiveKind::Move) {
    if (!contains(source.boxes[p], wanted)) {
      return invalid("the result at position ", p,
                     " is not inside of the source's box");
    }
    if (reduces(kind)) {
      for (size_t member : grid.group(p, axes)) {
        if (!(source.boxes[member] == source.boxes[p])) {
          return invalid("positions ", p, " and ", member,
                         " hold different boxes of what they combine");
        }
      }
    }
    return {};
  }
  std::vector<Box> boxes;
  for (size_t member : grid.group(p, axes)) {
    boxes.push_back(source.boxes[member]);
  }
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Fetch> fetches;
  if (!planFetches(1, wanted, boxes, order, fetches)) {
    return invalid("position ", p,
                   " needs elements that its group does not hold");
  }
  return {};
}

Status divisi::rt::checkCollective(const GridInfo &grid, CollectiveKind kind,
                                   std::span<const uint32_t> axes,
                                   const Placement &source,
                                   const Placement &result) {
  std::set<uint32_t> seen;
  for (uint32_t axis : axes) {
    if (axis >= grid.sizes.size() || !seen.insert(axis).second) {
      return invalid("axis ", axis, " is out of range or occurs twice");
    }
  }
  if (source.grid != result.grid || source.type != result.type ||
      source.dims != result.dims) {
    return invalid("source and result differ in grid, type or global shape");
  }
  if (Status status = checkPartial(kind, axes, source, result);
      !status.isOk()) {
    return status;
  }
  for (size_t p = 0; p < grid.numPositions(); ++p) {
    Status status = checkBoxes(grid, kind, axes, source, result, p);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status divisi::rt::checkTransfer(const Placement &from, const Placement &to) {
  if (from.type != to.type || from.dims != to.dims) {
    return invalid("source and result differ in type or global shape");
  }
  if (from.isPartial() || to.isPartial()) {
    return invalid("a partial value cannot go to another grid");
  }
  std::vector<size_t> order(from.boxes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const Box &wanted : to.boxes) {
    std::vector<Fetch> fetches;
    if (!planFetches(1, wanted, from.boxes, order, fetches)) {
      return invalid("the target needs elements that the source does not hold");
    }
  }
  return {};
}

OwnStep divisi::rt::describeCollective(
    const GridInfo &grid, CollectiveKind kind, std::span<const uint32_t> axes,
    const Placement &source, const Placement &result, size_t position) {
  OwnStep own;
  own.step.type = source.type;
  if (reduces(kind)) {
    own.step.reduce = source.partialKind;
  }
  for (size_t member : grid.group(position, axes)) {
    if (member == position) {
      own.self = own.step.parties.size();
    }
    own.step.parties.push_back(
        {grid.devices[member], source.boxes[member], result.boxes[member]});
  }
  return own;
}

Box divisi::rt::storedIn(const std::string &format, const Box &box) {
  if (format.empty()) {
    return box;
  }
  Dims order = channelsLastOrder(box.rank());
  return {permuted(box.begin, order), permuted(box.end, order)};
}

void divisi::rt::storeIn(const std::string &format, OwnStep &own) {
  for (StepParty &party : own.step.parties) {
    for (std::optional<Box> *box : {&party.source, &party.result}) {
      if (*box) {
        *box = storedIn(format, **box);
      }
    }
  }
}

OwnStep divisi::rt::describeTransfer(const GridInfo &fromGrid,
                                     const Placement &from,
                                     const GridInfo &toGrid,
                                     const Placement &to, uint32_t rank) {
  OwnStep own;
  own.step.type = from.type;
  std::map<uint32_t, StepParty> parties; // by rank: the union of both grids
  for (size_t p = 0; p < fromGrid.numPositions(); ++p) {
    uint32_t device = fromGrid.devices[p];
    parties[device].rank = device;
    parties[device].source = from.boxes[p];
  }
  for (size_t p = 0; p < toGrid.numPositions(); ++p) {
    uint32_t device = toGrid.devices[p];
    parties[device].rank = device;
    parties[device].result = to.boxes[p];
  }
  for (auto &[device, party] : parties) {
    if (device == rank) {
      own.self = own.step.parties.size();
    }
    own.step.parties.push_back(std::move(party));
  }
  return own;
}

bool divisi::rt::isMasked(const GridInfo &grid, std::span<const uint32_t> axes,
                          size_t position) {
  return grid.shardIndex(position, axes) != 0;
}
