//===- StageCut.cpp - Which nodes are on which stage ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageCut.h"

#include "StageGrids.h"
#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/OperationCost.h"
#include "divisi/Plan/WantedLayouts.h"

using namespace mlir;

namespace divisi::plan {

/// The most layers between which stages are cut: nodes are joined to so many.
static constexpr size_t kMostLayers = 96;

/// Those of which the results are made are nodes, of one micro-batch if it
/// stands for all; operators without a name belong to the one before. Others,
/// which training has derived from them, have their names.
void StageCut::findNodes(func::FuncOp entry) {
  SmallVector<Operation *> list;
  Operation *end = entry.front().getTerminator();
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (maker && forward_.insert(maker).second) {
        list.push_back(maker);
      }
    }
  };
  visit(end);
  while (!list.empty()) {
    visit(list.pop_back_val());
  }
  std::optional<size_t> last;
  bool isFolded = pipe::getFoldedBatches(entry).has_value();
  for (Operation &op : entry.front()) {
    std::string name = nn::nodeName(op.getLoc());
    if (!forward_.contains(&op) || isa<nn::ReadOp>(op) ||
        name == nn::kBatchNode ||
        (isFolded && !op.hasAttr(pipe::PipeDialect::kEach))) {
      continue;
    }
    if (!name.empty() || !last) {
      auto [known, isNew] = nodeOf_.try_emplace(name, nodes_.size());
      if (isNew) {
        nodes_.emplace_back().costs.resize(kinds_.kinds.size());
      }
      last = known->second;
    }
    nodeOfOp_[&op] = *last;
  }
  for (Operation &op : entry.front()) {
    if (!nodeOfOp_.contains(&op) && !isa<nn::ReadOp>(op)) {
      // Training calls what it derives so.
      std::string name = nn::nodeName(op.getLoc());
      StringRef node = name;
      node.consume_back(nn::kGradientSuffix);
      if (auto known = nodeOf_.find(node); known != nodeOf_.end()) {
        nodeOfOp_[&op] = known->second;
      }
    }
  }
}

void StageCut::priceNodes(func::FuncOp entry) {
  OperationCost cost(entry->getParentOfType<ModuleOp>(), cluster_);
  cost.enter(entry.front());
  for (auto op : entry.front().getOps<nn::LoopInterface>()) {
    auto node = nodeOfOp_.find(op);
    if (node == nodeOfOp_.end()) {
      continue;
    }
    for (auto [kind, grid, own] :
         llvm::zip_equal(kinds_.kinds, grids_, nodes_[node->second].costs)) {
      auto twin = cast<nn::LoopInterface>(plans_.twin(kind.plan, op));
      if (!spmd::getSplit(twin)) {
        continue;
      }
      auto strategy = spmd::requireStrategy(twin);
      if (failed(strategy)) {
        continue;
      }
      strategy->grid = grid;
      if (kind.isBound) {
        strategy->split = Split::replicated(strategy->nest);
      }
      int64_t time =
          cost.ofOperator(op, *strategy) / (kind.isBound ? kind.devices : 1);
      int64_t times = pipe::timesPerCall(op);
      if (kinds_.isSized) {
        addTime(op, time * times, own);
      } else {
        own.nanoseconds += time * times;
      }
    }
  }
}

/// Counts a value that a later node uses between its own and that one.
void StageCut::addCrossing(func::FuncOp entry) {
  std::vector<int64_t> change(nodes_.size()), count(nodes_.size());
  for (Operation &op : entry.front()) {
    auto own = nodeOfOp_.find(&op);
    if (own == nodeOfOp_.end()) {
      continue;
    }
    for (Value result : op.getResults()) {
      size_t last = own->second;
      for (Operation *user : result.getUsers()) {
        if (auto node = nodeOfOp_.find(user); node != nodeOfOp_.end()) {
          last = std::max(last, node->second);
        }
      }
      auto type = dyn_cast<RankedTensorType>(result.getType());
      int64_t times = pipe::timesPerCall(&op);
      int64_t bytes = type ? nn::byteCount(type).value_or(0) * times : 0;
      change[own->second] += bytes;
      change[last] -= bytes;
      count[own->second] += times;
      count[last] -= times;
    }
  }
  int64_t bytes = 0, values = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].crossing += bytes += change[node];
    nodes_[node].values += values += count[node];
  }
}

/// The last node of each layer: of about as much work each, where little
/// crosses.
std::vector<size_t> StageCut::findLayers() const {
  int64_t all = 0;
  for (const Node &node : nodes_) {
    all += node.costs.front().nanoseconds;
  }
  std::vector<size_t> ends;
  int64_t work = 0;
  size_t best = 0;
  bool isFirst = true;
  for (size_t i = 0; i + 1 < nodes_.size(); ++i) {
    work += nodes_[i].costs.front().nanoseconds;
    if (isFirst || nodes_[i].crossing <= nodes_[best].crossing) {
      best = i;
    }
    isFirst = false;
    size_t left = nodes_.size() - 1 - i;
    bool isMany = nodes_.size() > kMostLayers;
    if (!isMany || work * int64_t(kMostLayers) >= all || left == 0) {
      ends.push_back(best);
      isFirst = true;
      work = 0;
    }
  }
  ends.push_back(nodes_.size() - 1);
  return ends;
}

StageCut::NodeCost &StageCut::NodeCost::operator+=(const NodeCost &other) {
  nanoseconds += other.nanoseconds;
  once += other.once;
  bytes += other.bytes;
  bytesKept += other.bytesKept;
  return *this;
}

/// Per kind of stages, what all layers before one cost.
std::vector<std::vector<StageCut::NodeCost>>
StageCut::costsUpTo(ArrayRef<size_t> ends) const {
  std::vector<std::vector<NodeCost>> costs(kinds_.kinds.size(), {NodeCost()});
  for (size_t kind = 0; kind < costs.size(); ++kind) {
    size_t node = 0;
    for (size_t end : ends) {
      costs[kind].push_back(costs[kind].back());
      for (; node <= end; ++node) {
        costs[kind].back() += nodes_[node].costs[kind];
      }
    }
  }
  return costs;
}

/// Where devices of a pool are of no kind of their own.
static Status noRoom(const Cluster &cluster, ArrayRef<int64_t> sizes) {
  return makeError(ExitCode::Usage, "--stage-devices ", stageDevicesText(sizes),
                   ": the cluster ", cluster.name,
                   " has no room for such stages, each of devices of one "
                   "kind: make them smaller");
}

size_t StageCut::kindOf(const SubGrid &subGrid) const {
  auto found = llvm::find_if(kinds_.kinds, [&](const StageKind &kind) {
    return kind.pool == subGrid.kind && size_t(kind.devices) == subGrid.devices;
  });
  return size_t(found - kinds_.kinds.begin());
}

/// Layers that end with the nodes `ends`. Of stages of one size, neither
/// micro-batches nor memory are asked for.
StageProblem StageCut::problemOf(std::vector<size_t> ends) const {
  bool isSized = kinds_.isSized;
  int64_t batches = isSized ? microBatches_ : 1;
  StageProblem problem;
  problem.layers = ends.size();
  problem.devices.assign(kinds_.pools.begin(), kinds_.pools.end());
  problem.memory.resize(problem.devices.size());
  for (const StageKind &kind : kinds_.kinds) {
    problem.subGrids.push_back({kind.pool, size_t(kind.devices)});
    problem.memory[kind.pool] =
        cluster_.memoryLimit(cluster_.kindOf(kind.begin), kinds_.memoryLimit);
  }
  problem.sizes.assign(kinds_.sizes.begin(), kinds_.sizes.end());
  problem.microBatches = batches > 1 ? size_t(batches) : 4;
  problem.maxStages = size_t(chunks_);
  problem.minStages = size_t(kinds_.leastChunks.value_or(chunks_));
  problem.leftOut = kinds_.leftOut;
  problem.inFlight = [count = problem.microBatches](size_t position,
                                                    size_t stages) {
    return inFlightOf1F1B(position, stages, count);
  };
  problem.cost = [=, this, upTo = costsUpTo(ends), ends = std::move(ends)](
                     size_t begin, size_t end, const SubGrid &subGrid) {
    // Links of one pace are enough to tell much from little.
    const LinkLevel &links = cluster_.levels.back();
    NodeCost from = upTo[kindOf(subGrid)][begin];
    NodeCost to = upTo[kindOf(subGrid)][end];
    const Node &last = nodes_[ends[end - 1]];
    double bytes = double(last.crossing) * 1e9 / links.bytesPerSecond;
    // Each device of the stage sends a part (Cost/Transfer.h).
    bytes /= isSized ? double(subGrid.devices) : 1;
    int64_t sends = int64_t(bytes) + last.values * links.latencyNanoseconds;
    return std::optional(
        StageCost{.nanoseconds = to.nanoseconds - from.nanoseconds,
                  .sends = sends / batches,
                  .once = to.once - from.once,
                  .bytes = to.bytes - from.bytes,
                  .bytesKept = to.bytesKept - from.bytesKept});
  };
  return problem;
}

Status fewNodes(size_t chunks, size_t nodes) {
  return makeError(ExitCode::Usage, "a pipeline of ", chunks,
                   " chunks is asked for (--pipeline-parallel-size times "
                   "--num-stages-per-device), and the program has ",
                   nodes, " nodes: each chunk needs one");
}

/// Gives each node a chunk.
Status StageCut::cut() {
  int64_t least = kinds_.leastChunks.value_or(chunks_);
  if (int64_t(nodes_.size()) < least) {
    return fewNodes(size_t(chunks_), nodes_.size());
  }
  std::vector<size_t> ends = findLayers();
  if (int64_t(ends.size()) < least) { // too few are worth more than one
    ends.clear();
    for (size_t node = 0; node < nodes_.size(); ++node) {
      ends.push_back(node);
    }
  }
  StageProblem problem = problemOf(ends);
  std::optional<StagePlan> plan = planStages(problem);
  if (!plan) { // what devices hold is judged later
    llvm::fill(problem.memory, std::numeric_limits<int64_t>::max());
    plan = planStages(problem);
  }
  if (!plan && kinds_.leastChunks) {
    return Status();
  }
  if (!plan) {
    return noRoom(cluster_, kinds_.sizes);
  }
  size_t node = 0;
  for (size_t chunk = 0; chunk < plan->stages.size(); ++chunk) {
    kindOfChunk_.push_back(kindOf(plan->stages[chunk].subGrid));
    for (; node <= ends[plan->stages[chunk].end - 1]; ++node) {
      chunkOfNode_.push_back(int64_t(chunk));
    }
  }
  return Status();
}

/// As it is known of each node on the stage of its chunk.
void StageCut::countTime() {
  for (auto [node, chunk] : llvm::zip_equal(nodes_, chunkOfNode_)) {
    const NodeCost &cost = node.costs[kindOfChunk_[size_t(chunk)]];
    nanoseconds_ += cost.nanoseconds * microBatches_ + cost.once;
  }
}

SmallVector<func::FuncOp> entriesOf(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      entries.push_back(function);
    }
  }
  return entries;
}

void StageCut::price(ModuleOp module) {
  for (const StageKind &kind : kinds_.kinds) {
    grids_.push_back(
        gridAt(module, plans_.grid(kind.plan), kind.begin, "kind"));
  }
  for (func::FuncOp entry : entriesOf(module)) {
    priceNodes(entry);
    addCrossing(entry);
    if (kinds_.isSized) {
      addMemory(entry);
    }
  }
  if (kinds_.isSized) {
    addWays(entriesOf(module));
  }
  for (spmd::GridOp grid : grids_) {
    grid.erase();
  }
}

Status StageCut::run(ModuleOp module) {
  SmallVector<func::FuncOp> entries = entriesOf(module);
  for (func::FuncOp entry : entries) {
    findNodes(entry);
    microBatches_ =
        std::max(microBatches_, pipe::getFoldedBatches(entry).value_or(1));
  }
  if (cutAsAnnotated(entries)) {
    return Status();
  }
  price(module);
  Status status = cut();
  if (status.isOk() && kinds_.isSized && hasCut()) {
    countTime();
  }
  return status;
}

/// Nodes of which the model says nothing stay with those before them. False
/// where it says no stage, too few, or a stage after a later one.
bool StageCut::cutAsAnnotated(ArrayRef<func::FuncOp> entries) {
  auto module = entries.front()->getParentOfType<ModuleOp>();
  std::vector<int64_t> chunks(nodes_.size(), 0);
  int64_t last = 0;
  for (const auto &[name, wanted] : wantedNodes(module)) {
    auto node = nodeOf_.find(name);
    if (wanted.stage && node != nodeOf_.end()) {
      chunks[node->second] = *wanted.stage;
      last = std::max(last, *wanted.stage);
    }
  }
  for (size_t node = 1; node < chunks.size(); ++node) {
    chunks[node] = std::max(chunks[node], chunks[node - 1]);
  }
  if (last == 0 || last + 1 != chunks_ || kinds_.kinds.size() != 1) {
    return false;
  }
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    if (!llvm::is_contained(chunks, chunk)) {
      return false;
    }
  }
  chunkOfNode_ = std::move(chunks);
  kindOfChunk_.assign(size_t(chunks_), 0);
  return true;
}

std::optional<int64_t> StageCut::chunkOf(Operation *op) const {
  auto node = nodeOfOp_.find(op);
  return node == nodeOfOp_.end() ? std::nullopt
                                 : std::optional(chunkOfNode_[node->second]);
}

} // namespace divisi::plan
