//===- OptimizeModule.cpp - Searches a whole module -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/OptimizeModule.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Optimize/Segments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace divisi;
using namespace divisi::optimize;

/// Programs that are made beside a complete e-graph, and operators in all of
/// them where there are more.
static constexpr int64_t kLeastPrograms = 16, kMostOperators = 2000;

namespace {

/// Searches one module.
class Optimizer {
public:
  Optimizer(mlir::ModuleOp module,
            const std::vector<rewrite::ProvedRule> &rules,
            const std::vector<rewrite::Rule> &axioms,
            const OptimizeOptions &options)
      : module_(module), rules_(rules), options_(options),
        sites_(rules, axioms), saturation_(module.getContext(), sites_, rules,
                                           options_.kind, options_.saturation),
        search_(module.getContext(), sites_, options_.kind, options_.limits) {}

  Expected<OptimizeReport> run();

private:
  Expected<bool> runOn(mlir::func::FuncOp entry, SegmentSizes sizes);
  Expected<SearchResult> searchAnew(mlir::ModuleOp source);
  Expected<const SearchResult *> search(const TakenOut &taken);
  bool isWorthwhile(const SearchResult &found) const;
  bool isCheaperThere(const SearchResult &found, const Segment &segment,
                      const nn::KnownValues &known) const;
  void count(const SearchResult &found, const Segment &segment);

  mlir::ModuleOp module_;
  const std::vector<rewrite::ProvedRule> &rules_;
  const OptimizeOptions options_;
  rewrite::SiteFinder sites_;
  EqualitySaturation saturation_;
  BestFirst search_;
  std::map<std::string, SearchResult> known_; ///< By TakenOut::key.
  OptimizeReport report_;
};

} // namespace

/// Takes what an e-graph has, and goes on from there program by program, which
/// knows what is fused.
Expected<SearchResult> Optimizer::searchAnew(mlir::ModuleOp source) {
  auto grown = saturation_.run(source);
  if (!grown) {
    return grown.status();
  }
  // Of a complete e-graph, what is fused alone is not known; programs of many
  // operators take long to make.
  int64_t operators = std::max<int64_t>(grown->best.price.operators, 1);
  int64_t programs = grown->isComplete
                         ? std::max(kLeastPrograms, kMostOperators / operators)
                         : options_.limits.programs;
  auto found = search_.run(*grown->best.module, programs);
  if (!found) {
    return found.status();
  }
  found->before = grown->before;
  found->programs += grown->programs;
  llvm::append_range(grown->best.steps, found->best.steps);
  found->best.steps = std::move(grown->best.steps);
  return found;
}

/// Null where the budget is used up.
Expected<const SearchResult *> Optimizer::search(const TakenOut &taken) {
  auto known = known_.find(taken.key);
  if (known == known_.end()) {
    if (report_.programs >= options_.programs ||
        (options_.isOver && options_.isOver())) {
      report_.isComplete = false;
      return nullptr;
    }
    auto found = searchAnew(*taken.module);
    if (!found) {
      return found.status();
    }
    ++report_.segments;
    report_.programs += found->programs;
    report_.isComplete &= found->isComplete;
    known = known_.emplace(taken.key, std::move(*found)).first;
  }
  return &known->second;
}

bool Optimizer::isWorthwhile(const SearchResult &found) const {
  const Price &before = found.before, &after = found.best.price;
  return after < before &&
         double(before.nanoseconds - after.nanoseconds) >=
             options_.leastSaving * double(before.nanoseconds);
}

/// Those of the block that read results of `segment` and are none of it.
static Segment readersOf(const Segment &segment, const nn::KnownValues &known) {
  llvm::SetVector<mlir::Operation *> readers;
  for (mlir::Operation *op : segment) {
    for (mlir::Operation *user : op->getUsers()) {
      if (user->getBlock() == op->getBlock() && asComputed(*user, known) &&
          !llvm::is_contained(segment, user)) {
        readers.insert(user);
      }
    }
  }
  Segment list(readers.begin(), readers.end());
  llvm::sort(list, [](mlir::Operation *a, mlir::Operation *b) {
    return a->isBeforeInBlock(b);
  });
  return list;
}

/// Whether what is cheaper than `segment` alone is so together with those that
/// read its results, too: they may be in the kernels of what it replaces.
bool Optimizer::isCheaperThere(const SearchResult &found,
                               const Segment &segment,
                               const nn::KnownValues &known) const {
  Segment around = segment;
  llvm::append_range(around, readersOf(segment, known));
  TakenOut whole = takeOut(around, known);
  mlir::Block &body = functionOf(*whole.module).front();
  nn::KnownValues knownThere(*whole.module);
  int64_t before = priceOf(body, knownThere, options_.kind).nanoseconds;
  Segment same;
  for (mlir::Operation &op : body) {
    if (numberOf(op.getLoc()).value_or(segment.size()) < segment.size()) {
      same.push_back(&op);
    }
  }
  putBack(*found.best.module, takeOut(same, knownThere), same);
  int64_t after = priceOf(body, knownThere, options_.kind).nanoseconds;
  bool takesLess = found.best.price.nanoseconds < found.before.nanoseconds;
  return takesLess ? after < before : after <= before;
}

/// Notes the rules by which one segment became what was found.
void Optimizer::count(const SearchResult &found, const Segment &segment) {
  for (const RuleStep &step : found.best.steps) {
    const std::string &name = rules_[step.rule].rule.name;
    auto use = llvm::find_if(
        report_.rules, [&](const RuleUse &each) { return each.rule == name; });
    if (use == report_.rules.end()) {
      use = report_.rules.insert(use, {name, 0, {}});
    }
    ++use->times;
    for (mlir::Location location : step.results) {
      size_t number = numberOf(location).value_or(0);
      std::string node = nn::nodeName(segment[number]->getLoc());
      if (!node.empty() && !llvm::is_contained(use->nodes, node)) {
        use->nodes.push_back(std::move(node));
      }
    }
  }
}

/// Whether something has become cheaper.
Expected<bool> Optimizer::runOn(mlir::func::FuncOp entry, SegmentSizes sizes) {
  nn::KnownValues known(module_);
  bool isCheaper = false;
  for (const Segment &segment : cutIntoSegments(entry.front(), known, sizes)) {
    TakenOut taken = takeOut(segment, known);
    auto found = search(taken);
    if (!found) {
      return found.status();
    }
    if (*found && isWorthwhile(**found) &&
        isCheaperThere(**found, segment, known)) {
      count(**found, segment);
      putBack(*(*found)->best.module, taken, segment);
      isCheaper = true;
    }
  }
  return isCheaper;
}

Expected<OptimizeReport> Optimizer::run() {
  report_.before = priceOf(module_, options_.kind);
  SegmentSizes sizes;
  constexpr int rounds = 6;
  int idle = 0;
  for (int round = 0; round != rounds && idle != 2; ++round) {
    // What one cut goes through is whole in the next.
    sizes.skipped = round % 2 == 0 ? 0 : sizes.most / 2;
    bool isCheaper = false;
    for (auto function : module_.getOps<mlir::func::FuncOp>()) {
      if (nn::isEntry(function)) {
        auto more = runOn(function, sizes);
        if (!more) {
          return more.status();
        }
        isCheaper |= *more;
      }
    }
    idle = isCheaper ? 0 : idle + 1;
  }
  report_.after = priceOf(module_, options_.kind);
  return std::move(report_);
}

Expected<OptimizeReport> divisi::optimize::optimizeModule(
    mlir::ModuleOp module, const std::vector<rewrite::ProvedRule> &rules,
    const std::vector<rewrite::Rule> &axioms, const OptimizeOptions &options) {
  return Optimizer(module, rules, axioms, options).run();
}
