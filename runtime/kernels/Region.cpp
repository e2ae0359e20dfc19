//===- Region.cpp - Several operators in one call -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Region.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Nest.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "runtime/kernels/RegionPlan.h"

#include <algorithm>
#include <mutex>

using namespace divisi;
using namespace divisi::rt;

namespace {

using Place = RegionPlan::Place;

/// Where one tensor of a kernel lies.
struct Side {
  Place place;
  int64_t offset = 0; ///< Of a piece, in bytes.
};

/// A part, or a piece of one.
struct Step {
  std::unique_ptr<PreparedKernel> kernel;
  PartKernel made; ///< The part, and by whom.
  std::vector<Side> operands, results;
  /// Of the present launch.
  std::vector<const void *> from;
  std::vector<void *> to;

  void add(const RegionPlan &plan, std::span<const int> operandValues,
           std::span<const int> resultValues);
  Status launch(const LaunchContext &context, void *workspace, void *scratch,
                std::optional<BadIndex> &badIndex);
};

/// Parts one after the other, for each piece of their results.
struct Group {
  std::vector<std::vector<Step>> pieces; ///< One, if they are done as wholes.
  bool isLarge = false; ///< Whether it is worth a team of threads.
};

/// The groups of its parts, one after another.
class PreparedRegion final : public PreparedKernel {
public:
  PreparedRegion(int64_t scratch, ForEach forEach)
      : scratch_(scratch), forEach_(forEach) {}

  Status launch(LaunchContext &context) override;
  void collect(LaunchContext &context) override;
  std::vector<PackedBytes> packed() const override;
  std::vector<PartKernel> parts() const override;
  bool reads(size_t operand) const override;
  void add(Group group) { groups_.push_back(std::move(group)); }
  /// Keeps scratch memory for a part that wants more than was asked for.
  Status wantScratch(int64_t bytes);

private:
  struct Run;
  static void runPiece(void *run, int piece);

  std::vector<Group> groups_;
  int64_t scratch_; ///< Of the parts: where it begins.
  ForEach forEach_;
  AlignedBytes own_; ///< Scratch that is not in the workspace.
};

} // namespace

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

void Step::add(const RegionPlan &plan, std::span<const int> operandValues,
               std::span<const int> resultValues) {
  for (int value : operandValues) {
    operands.push_back({plan.placeOf(value)});
  }
  for (int value : resultValues) {
    results.push_back({plan.placeOf(value)});
  }
  from.resize(operands.size());
  to.resize(results.size());
}

Status Step::launch(const LaunchContext &context, void *workspace,
                    void *scratch, std::optional<BadIndex> &badIndex) {
  auto locate = [&](const Side &side) {
    const void *place =
        side.place.kind == Place::Kind::Operand
            ? context.operands[side.place.at]
        : side.place.kind == Place::Kind::Result
            ? context.results[side.place.at]
            : static_cast<std::byte *>(workspace) + side.place.at;
    return static_cast<const std::byte *>(place) + side.offset;
  };
  std::transform(operands.begin(), operands.end(), from.begin(), locate);
  std::transform(
      results.begin(), results.end(), to.begin(),
      [&](const Side &side) { return const_cast<std::byte *>(locate(side)); });
  LaunchContext own = context;
  own.operands = from;
  own.results = to;
  own.workspace = scratch;
  Status status = kernel->launch(own);
  badIndex = std::move(own.badIndex);
  return status;
}

/// One launch of a group with pieces.
struct PreparedRegion::Run {
  Group &group;
  LaunchContext context; ///< Of one thread.
  Status status = {};    ///< Of a piece that failed.
};

/// Elementwise parts want no scratch, and meet no index.
void PreparedRegion::runPiece(void *run, int piece) {
  auto &[group, context, failed] = *static_cast<Run *>(run);
  std::optional<BadIndex> none;
  for (Step &step : group.pieces[piece]) {
    if (Status status = step.launch(context, context.workspace, nullptr, none);
        !status.isOk()) {
      static std::mutex mutex;
      std::lock_guard lock(mutex);
      failed = status;
      return;
    }
  }
}

Status PreparedRegion::launch(LaunchContext &context) {
  auto *workspace = static_cast<std::byte *>(context.workspace);
  void *scratch = own_.size() != 0 ? own_.data()
                  : workspace      ? workspace + scratch_
                                   : nullptr;
  for (Group &group : groups_) {
    if (group.pieces.size() > 1) {
      Run run{group, context};
      run.context.threads = 1;
      forEach_(group.isLarge ? context.threads : 1, int(group.pieces.size()),
               &runPiece, &run);
      if (!run.status.isOk()) {
        return run.status;
      }
      continue;
    }
    for (Step &step : group.pieces.front()) {
      std::optional<BadIndex> badIndex;
      if (Status status = step.launch(context, workspace, scratch, badIndex);
          !status.isOk()) {
        return status;
      }
      if (badIndex) {
        context.note(std::move(*badIndex));
      }
    }
  }
  return {};
}

void PreparedRegion::collect(LaunchContext &context) {
  for (Group &group : groups_) {
    for (std::vector<Step> &piece : group.pieces) {
      for (Step &step : piece) {
        step.kernel->collect(context);
      }
    }
  }
}

std::vector<PackedBytes> PreparedRegion::packed() const {
  std::vector<PackedBytes> all = {{own_.data(), own_.size()}};
  for (const Group &group : groups_) {
    for (const std::vector<Step> &piece : group.pieces) {
      for (const Step &step : piece) {
        std::ranges::copy(step.kernel->packed(), std::back_inserter(all));
      }
    }
  }
  return all;
}

bool PreparedRegion::reads(size_t operand) const {
  auto readsIt = [&](const Step &step) {
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const Place &place = step.operands[o].place;
      if (place.kind == Place::Kind::Operand && place.at == int64_t(operand) &&
          step.kernel->reads(o)) {
        return true;
      }
    }
    return false;
  };
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group &group) {
    return std::any_of(group.pieces.begin(), group.pieces.end(),
                       [&](const std::vector<Step> &piece) {
                         return std::any_of(piece.begin(), piece.end(),
                                            readsIt);
                       });
  });
}

/// The pieces of a part have equal kernels.
std::vector<PartKernel> PreparedRegion::parts() const {
  std::vector<PartKernel> parts;
  for (const Group &group : groups_) {
    for (const Step &step : group.pieces.front()) {
      parts.push_back(step.made);
    }
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Boxes that make up `info`, each of which is dense in it, in order: some for
/// each thread, of as many elements as a core's cache has room for.
static std::vector<TensorInfo> piecesOf(const TensorInfo &info, int threads) {
  constexpr int64_t fewest = 16384, most = 65536;
  int64_t count = info.count();
  int64_t limit = std::max(std::clamp(count / (4 * threads), fewest, most),
                           count / 512); // and not too many of them
  size_t dim = 0;
  int64_t row = count,
          outer = 1; // elements of an index of `dim`; indices before
  for (; dim < info.rank(); ++dim) {
    row /= info.extents[dim];
    if (row <= limit) {
      break;
    }
    outer *= info.extents[dim];
  }
  if (dim == info.rank() || count <= limit) {
    return {info};
  }
  int64_t chunk = std::max<int64_t>(1, limit / row), extent = info.extents[dim];
  std::vector<TensorInfo> pieces;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t begin = 0; begin < extent; begin += chunk) {
      TensorInfo &piece = pieces.emplace_back(info);
      piece.offset[dim] += begin;
      piece.extents[dim] = std::min(chunk, extent - begin);
      int64_t index = o;
      for (size_t d = dim; d-- > 0; index /= info.extents[d]) {
        piece.offset[d] += index % info.extents[d];
        piece.extents[d] = 1;
      }
    }
  }
  return pieces;
}

/// Where `piece` begins in a dense tensor of the box `whole`, in elements.
static int64_t beginOf(const TensorInfo &piece, const TensorInfo &whole) {
  Dims strides = rowMajorStrides(whole.extents);
  int64_t begin = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    begin += (piece.offset[d] - whole.offset[d]) * strides[d];
  }
  return begin;
}

/// The piece `box` of one part; nothing if nobody does it without scratch.
static std::optional<Step> preparePiece(const CallSite &part,
                                        const RegionRunner &runner,
                                        const TensorInfo &box, Step step) {
  const TensorInfo &whole = part.results[0];
  std::vector<TensorInfo> operands(part.operands.begin(), part.operands.end());
  TensorInfo result = box;
  result.type = whole.type;
  int64_t begin = beginOf(box, whole);
  std::vector<Constant> constants(part.constants.begin(), part.constants.end());
  for (size_t o = 0; o < operands.size(); ++o) {
    if (isElementwise(part.op) && isSameBox(operands[o], whole)) {
      int64_t at = begin * byteWidth(operands[o].type);
      operands[o].extents = box.extents;
      operands[o].offset = box.offset;
      step.operands[o].offset = at;
      if (!constants.empty() && constants[o]) {
        constants[o] = constants[o].from(at);
      }
    }
  }
  step.results[0].offset = begin * byteWidth(whole.type);
  CallSite site{part.op, part.attributes,   operands, {&result, 1}, constants,
                1,       part.checksIndices};
  for (const Backend *backend : runner.backends) {
    const Kernel *kernel = backend->find(site);
    std::string ignored;
    if (kernel && kernel->query(site).workspaceBytes == 0) {
      step.kernel = kernel->prepare(site, ignored);
      if (step.kernel) {
        step.made = {std::string(part.op), backend->name()};
        return step;
      }
    }
  }
  return std::nullopt;
}

/// The parts from `first` on that are run piece by piece, if they are several
/// or there are several threads; nothing if that cannot be done.
static std::optional<Group> prepareGroup(const CallSite &site,
                                         const RegionRunner &runner,
                                         const RegionPlan &plan, size_t first) {
  size_t last = plan.groupEnd(first);
  const TensorInfo &whole = site.region->parts[first].results[0];
  if (last == first) {
    return std::nullopt;
  }
  std::vector<TensorInfo> boxes = piecesOf(whole, site.threads);
  if (boxes.size() < 2) {
    return std::nullopt;
  }
  constexpr int64_t largeWork = 131072; // elements, of all parts
  Group group;
  group.isLarge = whole.count() * int64_t(last - first + 1) >= largeWork;
  for (const TensorInfo &box : boxes) {
    std::vector<Step> &piece = group.pieces.emplace_back();
    for (size_t p = first; p <= last; ++p) {
      Step step;
      step.add(plan, site.region->parts[p].operands, plan.resultsOf(p));
      auto made = preparePiece(plan.siteOf(p), runner, box, std::move(step));
      if (!made) {
        return std::nullopt;
      }
      piece.push_back(std::move(*made));
    }
  }
  return group;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

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

bool divisi::rt::acceptsRegion(const CallSite &site,
                               const RegionRunner &runner) {
  if (!site.region) {
    return false;
  }
  RegionPlan plan(site, runner);
  for (size_t p = 0; p < site.region->parts.size(); ++p) {
    if (plan.takersOf(p).empty()) {
      return false;
    }
  }
  return true;
}

KernelQuery divisi::rt::queryRegion(const CallSite &site,
                                    const RegionRunner &runner) {
  return RegionPlan(site, runner).query();
}

/// Part `p` as a whole; false and a message if nobody does it.
static bool preparePart(const RegionPlan &plan, const RegionPart &part,
                        size_t p, PreparedRegion &region, Step &step,
                        std::string &error) {
  step.add(plan, part.operands, plan.resultsOf(p));
  int64_t wanted = 0;
  for (const auto &[candidate, backend] : plan.takersOf(p)) {
    if (!step.kernel) {
      wanted = candidate->query(plan.siteOf(p)).workspaceBytes;
      step.kernel = candidate->prepare(plan.siteOf(p), error);
      step.made = {part.op, backend->name()};
    }
  }
  if (!step.kernel) {
    error = "part " + std::to_string(p) + ", '" + part.op + "': " + error;
    return false;
  }
  if (wanted > plan.scratchBytes()) {
    if (Status status = region.wantScratch(wanted); !status.isOk()) {
      error = status.message();
      return false;
    }
  }
  return true;
}

std::unique_ptr<PreparedKernel>
divisi::rt::prepareRegion(const CallSite &site, const RegionRunner &runner,
                          std::string &error) {
  RegionPlan plan(site, runner);
  auto region =
      std::make_unique<PreparedRegion>(plan.scratchBegin(), runner.forEach);
  for (size_t p = 0; p < site.region->parts.size(); ++p) {
    const RegionPart &part = site.region->parts[p];
    bool allEmpty = std::all_of(
        part.results.begin(), part.results.end(),
        [](const TensorInfo &result) { return result.count() == 0; });
    if (allEmpty) {
      continue;
    }
    if (auto group = prepareGroup(site, runner, plan, p)) {
      region->add(std::move(*group));
      p = plan.groupEnd(p);
      continue;
    }
    Step step;
    if (!preparePart(plan, part, p, *region, step, error)) {
      return nullptr;
    }
    Group alone;
    alone.pieces.emplace_back().push_back(std::move(step));
    region->add(std::move(alone));
  }
  return region;
}
