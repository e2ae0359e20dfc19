//===- RegionPlan.cpp - Where the values of a region lie ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/RegionPlan.h"
#include "divisi/runtime/kernels/Nest.h"
#include "divisi/runtime/kernels/OperatorKinds.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static bool contains(const std::vector<std::pair<int, int>> &pairs, int operand,
                     int result) {
  return std::find(pairs.begin(), pairs.end(), std::pair(operand, result)) !=
         pairs.end();
}

RegionPlan::RegionPlan(const CallSite &site, const RegionRunner &runner)
    : site_(site), runner_(runner) {
  for (size_t o = 0; o < site.operands.size(); ++o) {
    Value &value = values_.emplace_back();
    value.info = &site.operands[o];
    value.constant = site.constants.empty() ? Constant() : site.constants[o];
    value.number = static_cast<int>(o);
  }
  parts_.reserve(site.region->parts.size()); // sites point into them
  for (const RegionPart &part : site.region->parts) {
    addPart(part);
  }
  for (size_t r = 0; r < site.region->results.size(); ++r) {
    values_[site.region->results[r]].result = static_cast<int>(r);
  }
  findGroups();
  sharePlaces();
  placeInWorkspace();
}

void RegionPlan::addPart(const RegionPart &part) {
  auto number = static_cast<int>(parts_.size());
  Part &added = parts_.emplace_back();
  for (int operand : part.operands) {
    added.operands.push_back(*values_[operand].info);
    added.constants.push_back(values_[operand].constant);
    values_[operand].lastUse = number;
  }
  added.first = added.last = number;
  added.firstResult = static_cast<int>(values_.size());
  for (const TensorInfo &result : part.results) {
    Value &value = values_.emplace_back();
    value.info = &result;
    value.maker = number;
    value.number = static_cast<int>(values_.size()) - 1 - added.firstResult;
  }
  for (const Backend *backend : runner_.backends) {
    if (const Kernel *kernel = backend->find(siteOf(number), part.version)) {
      added.takers.push_back({kernel, backend});
    }
  }
}

CallSite RegionPlan::siteOf(size_t part) const {
  const RegionPart &message = site_.region->parts[part];
  return {message.op,         message.attributes,     parts_[part].operands,
          message.results,    parts_[part].constants, site_.threads,
          site_.checksIndices};
}

std::vector<int> RegionPlan::resultsOf(size_t part) const {
  std::vector<int> values;
  for (size_t r = 0; r < site_.region->parts[part].results.size(); ++r) {
    values.push_back(parts_[part].firstResult + static_cast<int>(r));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether it takes each element of the part before it to the same place.
bool RegionPlan::continuesGroup(size_t part) const {
  if (part == 0 || !isElementwise(site_.region->parts[part].op)) {
    return false;
  }
  const std::vector<TensorInfo> &results = site_.region->parts[part].results;
  const std::vector<TensorInfo> &before = site_.region->parts[part - 1].results;
  return results.size() == 1 && before.size() == 1 &&
         isSameBox(results[0], before[0]);
}

/// Whether pieces of its result can be asked for. What moves elements may not
/// have others in its group that read, or write over, what it reads.
bool RegionPlan::beginsGroup(size_t part) const {
  const RegionPart &message = site_.region->parts[part];
  auto isRead = [&](int operand) {
    return values_[operand].lastUse == static_cast<int>(part);
  };
  return message.results.size() == 1 &&
         (isElementwise(message.op) ||
          (isMovement(message.op) && !takersOf(part).empty() &&
           preferred(part)->query(siteOf(part)).views.empty() &&
           std::all_of(message.operands.begin(), message.operands.end(),
                       isRead)));
}

void RegionPlan::findGroups() {
  if (!runner_.forEach) {
    return;
  }
  for (size_t p = 1; p < parts_.size(); ++p) {
    Part &before = parts_[p - 1];
    if (continuesGroup(p) && beginsGroup(size_t(before.first))) {
      parts_[p].first = before.first;
      for (int q = before.first; q <= static_cast<int>(p); ++q) {
        parts_[q].last = static_cast<int>(p);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Whether `part`, whoever runs it, may write its result number `result` over
/// `value`, which it is the last to read.
bool RegionPlan::mayOverwrite(int part, int value, int result) const {
  const RegionPart &message = site_.region->parts[part];
  auto begin = message.operands.begin(), end = message.operands.end();
  if (values_[value].lastUse != part || values_[value].result >= 0 ||
      std::count(begin, end, value) != 1 ||
      values_[value].info->bytes() != message.results[result].bytes()) {
    return false;
  }
  auto operand = static_cast<int>(std::find(begin, end, value) - begin);
  CallSite site = siteOf(part);
  return std::all_of(
      takersOf(part).begin(), takersOf(part).end(), [&](const Taker &taker) {
        return contains(taker.kernel->query(site).inPlace, operand, result);
      });
}

/// Each value lies where an operand of its part does that nobody reads again.
void RegionPlan::sharePlaces() {
  std::vector<bool> isTaken(values_.size());
  for (size_t v = 0; v < values_.size(); ++v) {
    Value &value = values_[v];
    value.first = static_cast<int>(v);
    if (value.maker < 0) {
      continue;
    }
    for (int operand : site_.region->parts[value.maker].operands) {
      if (values_[operand].maker >= 0 && !isTaken[operand] &&
          mayOverwrite(value.maker, operand, value.number)) {
        isTaken[operand] = true;
        value.first = values_[operand].first;
        break;
      }
    }
    // All at one place lie in the call's result, if the last of them does.
    if (value.result >= 0) {
      values_[value.first].result = value.result;
    }
  }
}

/// At the first offset that nobody has while the values of a place are needed:
/// those of a group in all of it, since its pieces are not in step.
void RegionPlan::placeInWorkspace() {
  struct Slot {
    int64_t begin, end;
    int lastUse;
  };
  std::vector<int> lastUses(values_.size()); // by place
  for (const Value &value : values_) {
    int last = value.lastUse < 0 ? value.maker : value.lastUse;
    lastUses[value.first] =
        std::max(lastUses[value.first], last < 0 ? last : parts_[last].last);
  }
  std::vector<Slot> live;
  offsets_.resize(values_.size());
  for (size_t v = 0; v < values_.size(); ++v) {
    const Value &value = values_[v];
    if (value.maker < 0 || value.first != static_cast<int>(v) ||
        value.result >= 0) {
      continue;
    }
    std::erase_if(live, [&](const Slot &slot) {
      return slot.lastUse < parts_[value.maker].first;
    });
    int64_t begin = 0, bytes = roundUp(value.info->bytes());
    auto next = live.begin();
    for (; next != live.end() && next->begin < begin + bytes; ++next) {
      begin = next->end;
    }
    live.insert(next, {begin, begin + bytes, lastUses[v]});
    offsets_[v] = begin;
    scratchBegin_ = std::max(scratchBegin_, begin + bytes);
  }
}

const Kernel *RegionPlan::preferred(size_t part) const {
  return takersOf(part).empty() ? nullptr : takersOf(part).front().kernel;
}

RegionPlan::Place RegionPlan::placeOf(int value) const {
  const Value &first = values_[values_[value].first];
  if (first.maker < 0) {
    return {Place::Kind::Operand, first.number};
  }
  return first.result >= 0
             ? Place{Place::Kind::Result, first.result}
             : Place{Place::Kind::Workspace, offsets_[values_[value].first]};
}

/// Of the operands of the call, those that a launch of `part` reads.
static void noteRead(const RegionPart &part, const KernelQuery &query,
                     std::vector<bool> &isRead) {
  for (size_t i = 0; i < part.operands.size(); ++i) {
    auto operand = static_cast<size_t>(part.operands[i]);
    if (operand < isRead.size() &&
        !std::ranges::count(query.unread, static_cast<int>(i))) {
      isRead[operand] = true;
    }
  }
}

/// A result of the call may lie over an operand if the first part that writes
/// there may write over it.
KernelQuery RegionPlan::query() const {
  KernelQuery query;
  query.workspaceBytes = scratchBegin_ + scratchBytes();
  for (size_t v = 0; v < values_.size(); ++v) {
    const Value &value = values_[v];
    if (value.maker < 0 || value.first != static_cast<int>(v) ||
        value.result < 0) {
      continue;
    }
    for (size_t o = 0; o < site_.operands.size(); ++o) {
      if (mayOverwrite(value.maker, static_cast<int>(o), value.number)) {
        query.inPlace.emplace_back(o, value.result);
      }
    }
  }
  std::vector<bool> isRead(site_.operands.size());
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Kernel *kernel = preferred(p);
    KernelQuery part = kernel ? kernel->query(siteOf(p)) : KernelQuery();
    for (PackedForm &form : part.packed) {
      form.operand = site_.region->parts[p].operands[size_t(form.operand)];
      query.packed.push_back(std::move(form));
    }
    noteRead(site_.region->parts[p], part, isRead);
  }
  for (size_t o = 0; o < isRead.size(); ++o) {
    if (!isRead[o]) {
      query.unread.push_back(static_cast<int>(o));
    }
  }
  return query;
}

int64_t RegionPlan::scratchBytes() const {
  int64_t most = 0;
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (const Kernel *kernel = preferred(p)) {
      most = std::max(most, kernel->query(siteOf(p)).workspaceBytes);
    }
  }
  return most;
}
