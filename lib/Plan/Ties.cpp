//===- Ties.cpp - Repeated blocks of a model ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ties.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

namespace divisi::plan {

namespace {
/// Sites [begin, end) of a dataflow.
struct SiteRange {
  size_t begin = 0, end = 0;
};
} // namespace

/// Distances between a site and the next of its kind.
static std::vector<size_t> candidateLengths(const Dataflow &dataflow,
                                            SiteRange range) {
  std::map<unsigned, size_t> last;
  std::vector<size_t> lengths;
  for (size_t index = range.begin; index != range.end; ++index) {
    auto [known, isNew] = last.try_emplace(dataflow.sites[index].kind, index);
    if (!isNew) {
      lengths.push_back(index - known->second);
      known->second = index;
    }
  }
  llvm::sort(lengths);
  lengths.erase(llvm::unique(lengths), lengths.end());
  return lengths;
}

/// As findRepeats, among the sites of `range`.
static std::optional<RepeatedBlocks> repeatsIn(const Dataflow &dataflow,
                                               SiteRange range) {
  // Blocks are short beside their model, and lengths few.
  constexpr size_t kMostLengths = 256;
  const std::vector<Site> &sites = dataflow.sites;
  std::optional<RepeatedBlocks> best;
  std::vector<size_t> lengths = candidateLengths(dataflow, range);
  lengths.resize(std::min(lengths.size(), kMostLengths));
  for (size_t length : lengths) {
    for (size_t begin = range.begin; begin + 2 * length <= range.end;) {
      size_t end = begin;
      while (end + length < range.end &&
             sites[end].kind == sites[end + length].kind) {
        ++end;
      }
      RepeatedBlocks found{begin, length, (end - begin) / length + 1};
      if (found.count >= 2 &&
          (!best || found.count * length > best->count * best->length)) {
        best = found;
      }
      begin = end + 1;
    }
  }
  return best;
}

std::optional<RepeatedBlocks> findRepeats(const Dataflow &dataflow) {
  return repeatsIn(dataflow, {0, dataflow.sites.size()});
}

std::vector<RepeatedBlocks> findAllRepeats(const Dataflow &dataflow) {
  std::vector<RepeatedBlocks> all;
  std::vector<SiteRange> open = {{0, dataflow.sites.size()}};
  size_t least = dataflow.sites.size() / 20;
  while (!open.empty()) {
    SiteRange range = open.back();
    open.pop_back();
    std::optional<RepeatedBlocks> found = repeatsIn(dataflow, range);
    if (!found || found->count * found->length <= least) {
      continue;
    }
    open.push_back({range.begin, found->begin});
    open.push_back({found->begin + found->count * found->length, range.end});
    all.push_back(*found);
  }
  llvm::sort(all, [](const RepeatedBlocks &a, const RepeatedBlocks &b) {
    return a.begin < b.begin;
  });
  return all;
}

namespace {
/// Ties nodes one by one; what does not fit stays free.
class Tier {
public:
  Tier(const Dataflow &dataflow, const PlanningProblem &planning)
      : dataflow_(dataflow), planning_(planning),
        madeBy_(dataflow.sites.size()), operands_(dataflow.sites.size()) {
    ties_.leader.resize(planning.problem.nodes.size());
    leads_.resize(planning.problem.nodes.size(), false);
    std::iota(ties_.leader.begin(), ties_.leader.end(), 0);
    for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
      if (tensor.kind == DataflowValue::Kind::Result) {
        madeBy_[tensor.index].push_back(unsigned(index));
      }
      for (const Consumer &consumer : tensor.consumers) {
        if (consumer.kind == Consumer::Kind::Operand) {
          operands_[consumer.index][consumer.operand] = {unsigned(index),
                                                         consumer.stop};
        }
      }
    }
  }

  void tieSites(unsigned site, unsigned leader);
  search::Ties take() { return std::move(ties_); }

private:
  /// Where an operand comes from.
  struct Source {
    unsigned tensor = 0;
    std::optional<unsigned> stop;
  };
  void tie(unsigned node, unsigned leader);
  void tieTensors(unsigned tensor, unsigned leader);

  const Dataflow &dataflow_;
  const PlanningProblem &planning_;
  std::vector<std::vector<unsigned>> madeBy_;        ///< Per site.
  std::vector<std::map<unsigned, Source>> operands_; ///< Per site.
  search::Ties ties_;
  std::vector<bool> leads_; ///< Per node: some node is tied to it.
};
} // namespace

/// Whoever leads is tied to nobody, and whoever is tied leads nobody.
void Tier::tie(unsigned node, unsigned leader) {
  leader = ties_.leader[leader];
  if (node != leader && ties_.leader[node] == node && !leads_[node] &&
      planning_.problem.nodes[node].costs.size() ==
          planning_.problem.nodes[leader].costs.size()) {
    ties_.leader[node] = leader;
    leads_[leader] = true;
  }
}

void Tier::tieTensors(unsigned tensor, unsigned leader) {
  if (!planning_.valuePlaces[tensor].empty() &&
      planning_.valuePlaces[tensor] == planning_.valuePlaces[leader]) {
    tie(planning_.valueNodes[tensor], planning_.valueNodes[leader]);
  }
}

void Tier::tieSites(unsigned site, unsigned leader) {
  if (planning_.choices[site] != planning_.choices[leader]) {
    return;
  }
  tie(planning_.siteNodes[site], planning_.siteNodes[leader]);
  for (auto [made, first] : llvm::zip_equal(madeBy_[site], madeBy_[leader])) {
    tieTensors(made, first);
  }
  for (auto [operand, source] : operands_[site]) {
    const Source &first = operands_[leader].at(operand);
    bool areGlobals =
        dataflow_.values[source.tensor].kind == DataflowValue::Kind::Global &&
        dataflow_.values[first.tensor].kind == DataflowValue::Kind::Global;
    if (areGlobals) {
      tieTensors(source.tensor, first.tensor);
    }
    if (source.stop && first.stop &&
        planning_.stopPlaces[*source.stop] ==
            planning_.stopPlaces[*first.stop]) {
      tie(planning_.stopNodes[*source.stop], planning_.stopNodes[*first.stop]);
    }
  }
}

std::optional<search::Ties> tiesOf(const Dataflow &dataflow,
                                   const PlanningProblem &planning) {
  std::vector<RepeatedBlocks> all = findAllRepeats(dataflow);
  if (all.empty()) {
    return std::nullopt;
  }
  Tier tier(dataflow, planning);
  for (const RepeatedBlocks &blocks : all) {
    for (size_t i = blocks.length; i != blocks.count * blocks.length; ++i) {
      tier.tieSites(unsigned(blocks.begin + i),
                    unsigned(blocks.begin + i % blocks.length));
    }
  }
  return tier.take();
}

} // namespace divisi::plan
