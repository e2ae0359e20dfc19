//===- Region.cpp - Several operators in one call -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Region.h"
#include "divisi/runtime/HostTensor.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static bool contains(const std::vector<std::pair<int, int>> &pairs, int operand,
                     int result) {
  return std::find(pairs.begin(), pairs.end(), std::pair(operand, result)) !=
         pairs.end();
}

namespace {

/// A value of a region.
struct Value {
  const TensorInfo *info = nullptr;
  const void *constant = nullptr; ///< CallSite::constants.
  int maker = -1;                 ///< The part; -1: an operand of the call.
  int number = 0;                 ///< Among the maker's results, or operands.
  int lastUse = -1;               ///< The last part that reads it.
  int result = -1;                ///< Of the call; -1: none.
  int first = 0;                  ///< The first of the values at its place.
};

/// Where the values of one call lie, and who could make them.
class RegionPlan {
public:
  RegionPlan(const CallSite &site, Backends backends);

  /// What the part's kernel is asked; points into the plan and the site.
  CallSite siteOf(size_t part) const;
  /// Who takes the part, those asked first in front.
  const std::vector<const Kernel *> &kernelsOf(size_t part) const {
    return parts_[part].kernels;
  }
  KernelQuery query() const;

  struct Place {
    enum class Kind : uint8_t { Operand, Result, Workspace } kind;
    int64_t at; ///< Its number, or an offset in bytes.
  };
  Place placeOf(int value) const;
  std::vector<int> resultsOf(size_t part) const;
  /// Where parts have the workspace that they want themselves.
  int64_t scratchBegin() const { return scratchBegin_; }
  /// How much that is, of the kernels that are asked first.
  int64_t scratchBytes() const;

private:
  struct Part {
    std::vector<TensorInfo> operands;
    std::vector<const void *> constants;
    std::vector<const Kernel *> kernels;
    int firstResult = 0; ///< Its value.
  };

  void addPart(const RegionPart &part, Backends backends);
  const Kernel *preferred(size_t part) const;
  bool mayOverwrite(int part, int value, int result) const;
  void sharePlaces();
  void placeInWorkspace();

  const CallSite &site_;
  std::vector<Value> values_;
  std::vector<Part> parts_;
  std::vector<int64_t> offsets_; ///< Per value that is the first at its place.
  int64_t scratchBegin_ = 0;
};

/// Its parts, one after another.
class PreparedRegion final : public PreparedKernel {
public:
  explicit PreparedRegion(int64_t scratch) : scratch_(scratch) {}

  Status launch(LaunchContext &context) override;
  void collect(LaunchContext &context) override {
    for (const Step &step : steps_) {
      step.kernel->collect(context);
    }
  }
  int64_t packedBytes() const override;
  void add(std::unique_ptr<PreparedKernel> kernel, const RegionPlan &plan,
           const RegionPart &part, std::span<const int> results);
  /// Keeps scratch memory for a part that wants more than was asked for.
  Status wantScratch(int64_t bytes);

private:
  struct Step {
    std::unique_ptr<PreparedKernel> kernel;
    std::vector<RegionPlan::Place> operands, results;
    /// Of the present launch.
    std::vector<const void *> from;
    std::vector<void *> to;
  };

  std::vector<Step> steps_;
  int64_t scratch_;  ///< Of the parts: where it begins.
  AlignedBytes own_; ///< Scratch that is not in the workspace.
};

} // namespace

//===----------------------------------------------------------------------===//
// Where values lie
//===----------------------------------------------------------------------===//

RegionPlan::RegionPlan(const CallSite &site, Backends backends) : site_(site) {
  for (size_t o = 0; o < site.operands.size(); ++o) {
    Value &value = values_.emplace_back();
    value.info = &site.operands[o];
    value.constant = site.constants.empty() ? nullptr : site.constants[o];
    value.number = static_cast<int>(o);
  }
  parts_.reserve(site.region->parts.size()); // sites point into them
  for (const RegionPart &part : site.region->parts) {
    addPart(part, backends);
  }
  for (size_t r = 0; r < site.region->results.size(); ++r) {
    values_[site.region->results[r]].result = static_cast<int>(r);
  }
  sharePlaces();
  placeInWorkspace();
}

void RegionPlan::addPart(const RegionPart &part, Backends backends) {
  auto number = static_cast<int>(parts_.size());
  Part &added = parts_.emplace_back();
  for (int operand : part.operands) {
    added.operands.push_back(*values_[operand].info);
    added.constants.push_back(values_[operand].constant);
    values_[operand].lastUse = number;
  }
  added.firstResult = static_cast<int>(values_.size());
  for (const TensorInfo &result : part.results) {
    Value &value = values_.emplace_back();
    value.info = &result;
    value.maker = number;
    value.number = static_cast<int>(values_.size()) - 1 - added.firstResult;
  }
  for (const Backend *backend : backends) {
    if (const Kernel *kernel = backend->find(siteOf(number), part.version)) {
      added.kernels.push_back(kernel);
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
  return std::all_of(parts_[part].kernels.begin(), parts_[part].kernels.end(),
                     [&](const Kernel *kernel) {
                       return contains(kernel->query(site).inPlace, operand,
                                       result);
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

/// At the first offset that nobody has while the values of a place are needed.
void RegionPlan::placeInWorkspace() {
  struct Slot {
    int64_t begin, end;
    int lastUse;
  };
  std::vector<int> lastUses(values_.size()); // by place
  for (const Value &value : values_) {
    lastUses[value.first] = std::max(lastUses[value.first], value.lastUse);
  }
  std::vector<Slot> live;
  offsets_.resize(values_.size());
  for (size_t v = 0; v < values_.size(); ++v) {
    const Value &value = values_[v];
    if (value.maker < 0 || value.first != static_cast<int>(v) ||
        value.result >= 0) {
      continue;
    }
    std::erase_if(live,
                  [&](const Slot &slot) { return slot.lastUse < value.maker; });
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
  const std::vector<const Kernel *> &kernels = parts_[part].kernels;
  return kernels.empty() ? nullptr : kernels.front();
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
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (const Kernel *kernel = preferred(p)) {
      query.packedBytes += kernel->query(siteOf(p)).packedBytes;
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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void PreparedRegion::add(std::unique_ptr<PreparedKernel> kernel,
                         const RegionPlan &plan, const RegionPart &part,
                         std::span<const int> results) {
  Step &step = steps_.emplace_back();
  step.kernel = std::move(kernel);
  for (int operand : part.operands) {
    step.operands.push_back(plan.placeOf(operand));
  }
  for (int result : results) {
    step.results.push_back(plan.placeOf(result));
  }
  step.from.resize(step.operands.size());
  step.to.resize(step.results.size());
}

Status PreparedRegion::wantScratch(int64_t bytes) {
  if (bytes <= own_.size()) {
    return {};
  }
  Expected<AlignedBytes> made = AlignedBytes::allocate(bytes);
  if (made) {
    own_ = std::move(*made);
  }
  return made.status();
}

Status PreparedRegion::launch(LaunchContext &context) {
  using Place = RegionPlan::Place;
  auto *workspace = static_cast<std::byte *>(context.workspace);
  auto written = [&](const Place &place) -> void * {
    return place.kind == Place::Kind::Result ? context.results[place.at]
                                             : workspace + place.at;
  };
  for (Step &step : steps_) {
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const Place &place = step.operands[o];
      step.from[o] = place.kind == Place::Kind::Operand
                         ? context.operands[place.at]
                         : written(place);
    }
    std::transform(step.results.begin(), step.results.end(), step.to.begin(),
                   written);
    LaunchContext own = context;
    own.operands = step.from;
    own.results = step.to;
    own.workspace = own_.size() != 0 ? own_.data()
                    : workspace      ? workspace + scratch_
                                     : nullptr;
    if (Status status = step.kernel->launch(own); !status.isOk()) {
      return status;
    }
    if (own.badIndex) {
      context.note(std::move(*own.badIndex));
    }
  }
  return {};
}

int64_t PreparedRegion::packedBytes() const {
  int64_t bytes = own_.size();
  for (const Step &step : steps_) {
    bytes += step.kernel->packedBytes();
  }
  return bytes;
}

bool divisi::rt::acceptsRegion(const CallSite &site, Backends backends) {
  if (!site.region) {
    return false;
  }
  RegionPlan plan(site, backends);
  for (size_t p = 0; p < site.region->parts.size(); ++p) {
    if (plan.kernelsOf(p).empty()) {
      return false;
    }
  }
  return true;
}

KernelQuery divisi::rt::queryRegion(const CallSite &site, Backends backends) {
  return RegionPlan(site, backends).query();
}

std::unique_ptr<PreparedKernel> divisi::rt::prepareRegion(const CallSite &site,
                                                          Backends backends,
                                                          std::string &error) {
  RegionPlan plan(site, backends);
  auto region = std::make_unique<PreparedRegion>(plan.scratchBegin());
  for (size_t p = 0; p < site.region->parts.size(); ++p) {
    const RegionPart &part = site.region->parts[p];
    bool allEmpty = std::all_of(
        part.results.begin(), part.results.end(),
        [](const TensorInfo &result) { return result.count() == 0; });
    if (allEmpty) {
      continue;
    }
    std::unique_ptr<PreparedKernel> kernel;
    int64_t wanted = 0;
    for (const Kernel *candidate : plan.kernelsOf(p)) {
      if (!kernel) {
        wanted = candidate->query(plan.siteOf(p)).workspaceBytes;
        kernel = candidate->prepare(plan.siteOf(p), error);
      }
    }
    if (!kernel) {
      error = "part " + std::to_string(p) + ", '" + part.op + "': " + error;
      return nullptr;
    }
    if (wanted > plan.scratchBytes()) {
      if (Status status = region->wantScratch(wanted); !status.isOk()) {
        error = status.message();
        return nullptr;
      }
    }
    region->add(std::move(kernel), plan, part, plan.resultsOf(p));
  }
  return region;
}
