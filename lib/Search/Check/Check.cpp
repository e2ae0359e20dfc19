//===- Check.cpp - The independent checker of solutions -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deliberately another way than evaluate(): usage is summed anew for every time
// at which something begins (it cannot rise elsewhere), from sorted lists. Sums
// of costs and of usages have fewer than 2^34 terms of 64 bits each, so 128 are
// enough; what a certificate scales is another matter (CheckedWide.h).
//
// Bounds: Merging.h replays the deductions, Remainder.h sums what is left,
// TreeForm.h looks at the tree's form, TreeBound.h computes what it proves.
//
//===----------------------------------------------------------------------===//

#include "TreeBound.h"
#include "TreeForm.h"

#include <algorithm>

namespace divisi::search {

namespace {
/// One thing that uses memory for a while.
struct Use {
  Lifetime live;
  int64_t bytes;
};
} // namespace

/// Goes through begins and ends in order: usage can only rise at a begin, and
/// what ends at that time is over by then.
static Peak peakOf(std::vector<Use> uses) {
  std::erase_if(uses, [](const Use &use) {
    return use.live.begin >= use.live.end || use.bytes == 0;
  });
  std::vector<Use> byEnd = uses;
  std::ranges::sort(uses, {}, [](const Use &use) { return use.live.begin; });
  std::ranges::sort(byEnd, {}, [](const Use &use) { return use.live.end; });
  Peak peak;
  Wide now = 0;
  size_t ended = 0;
  for (size_t i = 0; i != uses.size();) {
    int64_t time = uses[i].live.begin;
    for (; i != uses.size() && uses[i].live.begin == time; ++i) {
      now += uses[i].bytes;
    }
    for (; ended != byEnd.size() && byEnd[ended].live.end <= time; ++ended) {
      now -= byEnd[ended].bytes;
    }
    if (now > peak.usage) {
      peak = {now, time};
    }
  }
  return peak;
}

static std::optional<std::string> checkAssignment(const Problem &problem,
                                                  const Solution &solution) {
  const std::vector<uint32_t> &chosen = solution.assignment;
  if (chosen.size() != problem.nodes.size()) {
    return "the assignment has " + std::to_string(chosen.size()) +
           " entries, expected " + std::to_string(problem.nodes.size());
  }
  for (size_t i = 0; i != chosen.size(); ++i) {
    const Node &node = problem.nodes[i];
    if (chosen[i] >= node.costs.size()) {
      return "node " + std::to_string(i) + " takes strategy " +
             std::to_string(chosen[i]) + ", of " +
             std::to_string(node.costs.size());
    }
    if (node.costs[chosen[i]] >= kInfeasible) {
      return "node " + std::to_string(i) + " takes an infeasible strategy";
    }
  }
  return std::nullopt;
}

template <typename NodeOrEdge>
static void addUses(std::vector<Use> &uses, const NodeOrEdge &user,
                    int64_t bytes) {
  uses.push_back({user.live, bytes});
  for (Lifetime again : user.moreLives) {
    uses.push_back({again, bytes});
  }
}

/// The uses of each resource.
static std::vector<std::vector<Use>>
usesOf(const Problem &problem, const std::vector<uint32_t> &chosen) {
  std::vector<std::vector<Use>> uses(problem.numResources());
  for (const Edge &edge : problem.edges) {
    size_t entry =
        size_t(chosen[edge.from]) * problem.nodes[edge.to].costs.size() +
        chosen[edge.to];
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      addUses(uses[r], edge, problem.matrices[matrix].entries[entry]);
    });
  }
  for (size_t i = 0; i != chosen.size(); ++i) {
    const Node &node = problem.nodes[i];
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      addUses(uses[r], node, usages[chosen[i]]);
    });
  }
  return uses;
}

static std::optional<std::string>
checkLimit(const Problem &problem, uint32_t resource, const Peak &peak) {
  std::optional<int64_t> limit = problem.limitOf(resource);
  if (!limit || peak.usage <= *limit) {
    return std::nullopt;
  }
  return "at time " + std::to_string(peak.time) + " the usage" +
         ofResource(problem, resource) + " is " + toString(peak.usage) +
         ", above the limit of " + std::to_string(*limit);
}

/// Cost, peaks and limits.
static std::optional<std::string> checkSums(const Problem &problem,
                                            const Solution &solution) {
  const std::vector<uint32_t> &chosen = solution.assignment;
  if (solution.morePeaks.size() + 1 != problem.numResources()) {
    return "it has peaks of " + std::to_string(solution.morePeaks.size() + 1) +
           " resources, expected " + std::to_string(problem.numResources());
  }
  Wide total = 0;
  for (size_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    int64_t cost =
        problem.matrices[edge.costs].at(chosen[edge.from], chosen[edge.to]);
    if (cost >= kInfeasible) {
      return "edge " + std::to_string(e) + " joins strategies that exclude " +
             "each other";
    }
    total += cost;
  }
  for (size_t i = 0; i != chosen.size(); ++i) {
    total += problem.nodes[i].costs[chosen[i]];
  }
  std::vector<std::vector<Use>> uses = usesOf(problem, chosen);
  std::vector<Peak> peaks;
  for (uint32_t r = 0; r != uses.size(); ++r) {
    peaks.push_back(peakOf(std::move(uses[r])));
    if (auto wrong = checkLimit(problem, r, peaks.back())) {
      return wrong;
    }
  }
  if (total != solution.cost) {
    return "the cost is " + toString(total) + ", not " +
           toString(solution.cost);
  }
  for (uint32_t r = 0; r != peaks.size(); ++r) {
    if (Peak claimed = solution.peakOf(r); peaks[r] != claimed) {
      return "the peak" + ofResource(problem, r) + " is " +
             toString(peaks[r].usage) + " at time " +
             std::to_string(peaks[r].time) + ", not " +
             toString(claimed.usage) + " at time " +
             std::to_string(claimed.time);
    }
  }
  return std::nullopt;
}

/// The bound that needs no certificate: the sum of the least costs.
static Wide leastOfEach(const Problem &problem) {
  auto least = [](const std::vector<int64_t> &costs) {
    Wide result = 0;
    for (size_t i = 0; i != costs.size(); ++i) {
      result = i == 0 ? costs[0] : std::min<Wide>(result, costs[i]);
    }
    return result;
  };
  std::vector<Wide> leastOfMatrix;
  for (const Matrix &matrix : problem.matrices) {
    leastOfMatrix.push_back(least(matrix.entries));
  }
  Wide sum = 0;
  for (const Node &node : problem.nodes) {
    sum += least(node.costs);
  }
  for (const Edge &edge : problem.edges) {
    sum += leastOfMatrix[edge.costs];
  }
  return sum;
}

static Status invalid(std::string message) {
  return {ExitCode::Invalid, std::move(message)};
}

Expected<std::optional<Wide>> provedBound(const Problem &problem,
                                          const Certificate &certificate) {
  if (auto wrong = validate(problem)) {
    return invalid("the problem is invalid: " + *wrong);
  }
  if (certificate.tree.empty()) {
    return invalid("the certificate has no tree, so it proves nothing");
  }
  Merging merging(problem);
  for (size_t i = 0; i != certificate.deductions.size(); ++i) {
    if (auto wrong = merging.take(certificate.deductions[i])) {
      return invalid("step " + std::to_string(i) +
                     " of the certificate: " + *wrong);
    }
  }
  Remainder remainder = buildRemainder(merging);
  if (auto wrong = checkTreeForm(problem, remainder, certificate)) {
    return invalid("certificate: " + *wrong);
  }
  Expected<std::optional<Wide>> bound =
      treeBound(merging, std::move(remainder), certificate);
  return bound ? bound : invalid("certificate: " + bound.status().message());
}

/// Without a certificate only the sum of the least costs is a bound.
static std::optional<std::string> checkBound(const Problem &problem,
                                             const Solution &solution) {
  if (solution.lowerBound > solution.cost) {
    return "the lower bound " + toString(solution.lowerBound) +
           " is above the cost " + toString(solution.cost);
  }
  if (solution.certificate.tree.empty()) {
    Wide trivial = leastOfEach(problem);
    if (solution.lowerBound > trivial) {
      return "the lower bound " + toString(solution.lowerBound) +
             " has no certificate, and is above the sum of least costs, " +
             toString(trivial);
    }
    return std::nullopt;
  }
  Expected<std::optional<Wide>> proved =
      provedBound(problem, solution.certificate);
  if (!proved) {
    return proved.status().message();
  }
  if (!*proved) {
    return "the certificate proves that there is no solution, yet this is one";
  }
  if (solution.lowerBound != **proved) {
    return "the certificate proves a lower bound of " + toString(**proved) +
           ", not " + toString(solution.lowerBound);
  }
  return std::nullopt;
}

std::optional<std::string> check(const Problem &problem,
                                 const Solution &solution) {
  if (auto wrong = validate(problem)) {
    return "the problem is invalid: " + *wrong;
  }
  if (auto wrong = checkAssignment(problem, solution)) {
    return wrong;
  }
  if (auto wrong = checkSums(problem, solution)) {
    return wrong;
  }
  return checkBound(problem, solution);
}

} // namespace divisi::search
