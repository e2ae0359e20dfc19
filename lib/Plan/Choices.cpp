//===- Choices.cpp - The strategies to choose from ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choices.h"

#include "Lifetimes.h"
#include "WantedSites.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace divisi::plan {

static bool isReachedByBatch(const Site &site) {
  return llvm::is_contained(site.batch, true);
}

/// Data axes are for the batch where it is, and free elsewhere: updates of
/// parameters may be split over them.
bool ChoiceMaker::obeysRoles(const Site &site, const Split &split) const {
  bool hasBatch = isReachedByBatch(site);
  for (auto [index, axes] : llvm::enumerate(split.loopAxes)) {
    for (AxisId axis : axes) {
      AxisRole role = rules_.roles[axis.index];
      bool isWrong = role == AxisRole::Data
                         ? hasBatch && !site.batch[index]
                         : role == AxisRole::Model && site.batch[index];
      if (isWrong) {
        return false;
      }
    }
  }
  return true;
}

/// Two factors summed over a loop: what is worth a degree of parallelism.
static bool isContraction(const LoopNest &nest) {
  return nest.linear.size() >= 2 &&
         llvm::any_of(nest.loops, [](const Loop &loop) {
           return loop.kind == LoopKind::Reduction;
         });
}

/// An embedding: rows of a parameter, by index.
static bool readsParameterTable(const Site &site) {
  return llvm::any_of(llvm::zip_equal(site.nest.operands, site.parameters),
                      [&](const auto &pair) {
                        const auto &[operand, isParameter] = pair;
                        return isParameter && isTable(site.nest, operand);
                      });
}

/// Whether a loop stands in an operand that is made from parameters alone, or
/// in any if none is.
static bool isShared(const Site &site, LoopId loop) {
  bool found = false, any = false;
  for (auto [operand, isParameter] :
       llvm::zip_equal(site.nest.operands, site.parameters)) {
    any |= isParameter;
    found |= isParameter && llvm::any_of(operand.dims, [&](const DimMap &dim) {
               return dim.mentions(loop);
             });
  }
  return found || !any;
}

/// Over how many devices along axes of `role` a split shares the work. Model
/// axes share parameters, so only the loops of these count.
int64_t ChoiceMaker::degree(const Site &site, AxisRole role,
                            const Split &split) const {
  int64_t product = 1;
  for (auto [index, axes] : llvm::enumerate(split.loopAxes)) {
    if (role == AxisRole::Model && !isShared(site, LoopId{uint32_t(index)})) {
      continue;
    }
    for (AxisId axis : axes) {
      product *= rules_.roles[axis.index] == role ? grid_.size(axis) : 1;
    }
  }
  return product;
}

/// Who asks for a degree of parallelism means it: keeps the splits of the
/// highest degree.
void ChoiceMaker::keepFullest(const Site &site, AxisRole role,
                              std::vector<Split> &splits) const {
  int64_t most = 1;
  for (const Split &split : splits) {
    most = std::max(most, degree(site, role, split));
  }
  std::erase_if(splits, [&](const Split &split) {
    return degree(site, role, split) != most;
  });
}

/// Over how many devices along axes of `role` a place splits a tensor.
int64_t ChoiceMaker::placeDegree(unsigned tensorClass, unsigned place,
                                 AxisRole role) const {
  int64_t product = 1;
  for (const DimLayout &dim : pool_.layout(tensorClass, place).dims) {
    for (AxisId axis : dim.axes) {
      product *= rules_.roles[axis.index] == role ? grid_.size(axis) : 1;
    }
  }
  return product;
}

void ChoiceMaker::keepZeroPlaces(unsigned tensorClass, int64_t most,
                                 std::vector<unsigned> &places) const {
  int64_t best = 1;
  for (unsigned place : places) {
    int64_t degree = placeDegree(tensorClass, place, AxisRole::Data);
    best = degree <= most ? std::max(best, degree) : best;
  }
  std::erase_if(places, [&](unsigned place) {
    return placeDegree(tensorClass, place, AxisRole::Data) != best;
  });
}

/// Model axes are asked for so that parameters lie in parts.
void ChoiceMaker::keepSharedPlaces(const Site &site, unsigned tensorClass,
                                   std::vector<unsigned> &places) const {
  if (!isContraction(site.nest) && !readsParameterTable(site)) {
    return;
  }
  auto degree = [&](unsigned place) {
    return placeDegree(tensorClass, place, AxisRole::Model);
  };
  int64_t most = 1;
  for (unsigned place : places) {
    most = std::max(most, degree(place));
  }
  std::erase_if(places, [&](unsigned place) { return degree(place) != most; });
}

std::vector<Split> ChoiceMaker::splitsOf(const Site &site,
                                         size_t *leftOut) const {
  constexpr size_t kEnumerated = 20000;
  std::vector<Split> splits;
  for (const Split &split : enumerateSplits(site.nest, grid_, kEnumerated)) {
    if (obeysRoles(site, split) && hasWanted(site, grid_, split)) {
      splits.push_back(split);
    }
  }
  if (splits.empty()) { // what is wanted comes before roles
    splits = wantedSplits(site, grid_);
  }
  if (isReachedByBatch(site)) {
    keepFullest(site, AxisRole::Data, splits);
  }
  if (isContraction(site.nest) || readsParameterTable(site)) {
    keepFullest(site, AxisRole::Model, splits);
  }
  if (splits.size() <= rules_.maxStrategies) {
    return splits;
  }
  if (leftOut) {
    *leftOut = splits.size() - rules_.maxStrategies;
  }
  // The first is the replicated one, if the rules left it.
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [index, split] : llvm::enumerate(splits)) {
    order.push_back({index == 0 ? -1
                                : opNanoseconds(site.nest, grid_, split,
                                                site.profile, pace_),
                     index});
  }
  llvm::sort(order);
  order.resize(rules_.maxStrategies);
  llvm::sort(order, [](auto a, auto b) { return a.second < b.second; });
  std::vector<Split> kept;
  for (auto [cost, index] : order) {
    kept.push_back(splits[index]);
  }
  return kept;
}

ChoiceMaker::KindKey ChoiceMaker::keyOf(const Site &site) const {
  FusedEnds ends = site.fusibleOn(pace_);
  return {site.kind, std::move(ends.operands), std::move(ends.results)};
}

int64_t ChoiceMaker::leastNanoseconds(const Site &site) {
  auto [known, isNew] = least_.try_emplace(keyOf(site), INT64_MAX);
  if (isNew) {
    FusedEnds fusible = site.fusibleOn(pace_);
    for (const Split &split : splitsOf(site)) {
      known->second =
          std::min(known->second, opNanoseconds(site.nest, grid_, split,
                                                site.profile, pace_, fusible));
    }
  }
  return known->second;
}

/// What takes more is in no plan that is wanted.
void ChoiceMaker::keepWithinSlack(const Site &site,
                                  std::vector<Split> &splits) {
  FusedEnds fusible = site.fusibleOn(pace_);
  int64_t most = leastNanoseconds(site) + *rules_.slack / site.repeats;
  std::erase_if(splits, [&](const Split &split) {
    return opNanoseconds(site.nest, grid_, split, site.profile, pace_,
                         fusible) > most;
  });
}

/// Interns layouts operand by operand, so that edges compare numbers.
std::shared_ptr<const SiteChoices>
ChoiceMaker::evaluate(const Site &site, std::vector<Split> splits,
                      size_t leftOut) {
  const LoopNest &nest = site.nest;
  auto choices = std::make_shared<SiteChoices>();
  choices->leftOut = leftOut;
  choices->operands.resize(nest.operands.size());
  choices->results.resize(nest.results.size());
  choices->resultBytes.resize(memories_.size());
  FusedEnds fusible = site.fusibleOn(pace_);
  for (const Split &split : splits) {
    bool isView =
        site.profile.isView && site.profile.isView(nest, grid_, split);
    OpTime time = opTime(nest, grid_, split, site.profile, pace_, fusible);
    choices->nanoseconds.push_back(time.fused);
    if (!fusible.operands.empty()) {
      choices->operandApart.push_back(isView ? ApartTime() : time.operand);
    }
    if (!fusible.results.empty()) {
      choices->resultApart.push_back(isView ? ApartTime() : time.result);
    }
    for (unsigned i = 0; i != nest.operands.size(); ++i) {
      unsigned tensorClass =
          pool_.classOf(nest.operands[i].shape, site.profile.operands[i]);
      choices->operands[i].push_back(
          pool_.intern(tensorClass, operandLayout(nest, grid_, split, i)));
    }
    llvm::SmallVector<int64_t, 2> bytes(memories_.size(), 0);
    for (unsigned i = 0; i != nest.results.size(); ++i) {
      const TensorMap &result = nest.results[i];
      unsigned tensorClass =
          pool_.classOf(result.shape, site.profile.results[i]);
      Layout layout = resultLayout(nest, grid_, split, i);
      for (auto [sum, memory] : llvm::zip_equal(bytes, memories_)) {
        sum += memory.localBytes(grid_, layout, result.shape,
                                 site.profile.results[i]);
      }
      choices->results[i].push_back(pool_.intern(tensorClass, layout));
    }
    for (auto [list, sum] : llvm::zip_equal(choices->resultBytes, bytes)) {
      list.push_back(isAlias(site) && isView ? 0 : sum);
    }
  }
  choices->splits = std::move(splits);
  return choices;
}

std::shared_ptr<const SiteChoices> ChoiceMaker::choicesOf(const Site &site,
                                                          const Split *fixed) {
  if (fixed) {
    return evaluate(site, {*fixed});
  }
  std::shared_ptr<const SiteChoices> &known =
      known_[{keyOf(site), rules_.slack ? site.repeats : 0}];
  if (!known) {
    size_t leftOut = 0;
    std::vector<Split> splits = splitsOf(site, &leftOut);
    if (rules_.slack) {
      keepWithinSlack(site, splits);
    }
    known = evaluate(site, std::move(splits), leftOut);
  }
  return known;
}

std::shared_ptr<const SiteChoices>
ChoiceMaker::choicesWith(const Site &site,
                         std::shared_ptr<const SiteChoices> choices,
                         const Split &split) {
  if (llvm::is_contained(choices->splits, split)) {
    return choices;
  }
  std::vector<Split> splits = choices->splits;
  splits.push_back(split);
  return evaluate(site, std::move(splits), choices->leftOut);
}

} // namespace divisi::plan
