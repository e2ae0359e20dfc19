//===- Exact.cpp - The exact solver, for small problems -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eliminates variables exactly where the tables are small, in mini-buckets
// where few variables are left but the tables would be large. If memory binds,
// a subgradient method prices it, and depth first search guided by the priced
// tables proves the rest. If nothing fits, the same search with the excess over
// the limit as value finds the smallest limit that would do.
//
//===----------------------------------------------------------------------===//

#include "DepthFirst.h"

#include <algorithm>
#include <cmath>

namespace divisi::search {

/// Entries of one table, of all tables, of a mini-bucket's table while prices
/// are sought, and of all matrices: 16 bytes each.
static constexpr double kLargestTable = 1 << 22, kAllTables = 1 << 24,
                        kMiniTable = 1 << 12, kAllMatrices = 1 << 24;
/// With so many choices a search through split buckets may still end.
static constexpr size_t kSearchable = 256;

namespace {
class ExactSolver {
public:
  ExactSolver(const Problem &problem, const Options &options)
      : problem_(problem), options_(options), budget_(options) {}

  Outcome solve();

private:
  std::optional<std::string> tooLarge() const;
  std::optional<std::string> plan(const ExactProblem &exact);
  Guide guide(const ExactProblem &exact, Goal goal,
              const std::vector<double> &prices, double maxTable);
  std::vector<double> priceLimit(const ExactProblem &exact, DepthFirst &search);
  std::vector<double> pricePeak(const ExactProblem &exact, DepthFirst &search);
  int steps(double share) const;
  Outcome minimizeCost(const ExactProblem &exact);
  Outcome provedInfeasible(const ExactProblem &exact);
  Outcome tooLittle(const std::optional<Excess> &least, bool proved) const;
  Outcome tooLittleOfAll(const std::optional<Excess> &least) const;
  Outcome impossible(const std::string &why);
  Outcome notFound(const std::string &why);
  Outcome conclude(Outcome outcome) const;

  const Problem &problem_;
  const Options &options_;
  Budget budget_;
  std::vector<uint32_t> order_;
  TableSizes sizes_;
  double maxTable_ = 0, maxTableForPrices_ = 0;
};
} // namespace

std::optional<std::string> ExactSolver::tooLarge() const {
  double entries = 0;
  for (const Edge &edge : problem_.edges) {
    entries += double(problem_.matrices[edge.costs].entries.size());
  }
  if (entries <= kAllMatrices) {
    return std::nullopt;
  }
  return "its edges have " + toString(Wide(entries)) +
         " matrix entries, expected at most " + toString(Wide(kAllMatrices));
}

/// The order of elimination and how large tables may get, or why not.
std::optional<std::string> ExactSolver::plan(const ExactProblem &exact) {
  order_ = minFillOrder(exact.sizes.size(), exact.pairs, budget_);
  if (budget_.over()) {
    return "the budget ended before an order of elimination was found";
  }
  sizes_ = tableSizes(exact.sizes, order_, exact.pairs);
  maxTable_ = maxTableForPrices_ = kLargestTable;
  if (sizes_.largest <= kLargestTable && sizes_.total <= kAllTables) {
    return std::nullopt;
  }
  size_t choices = size_t(std::ranges::count_if(
      exact.sizes, [](uint32_t size) { return size > 1; }));
  if (choices <= kSearchable) {
    maxTable_ = kAllTables / double(8 * choices);
    maxTableForPrices_ = kMiniTable;
    return std::nullopt;
  }
  return "elimination would need about 2^" +
         std::to_string(int(std::ceil(std::log2(sizes_.total)))) +
         " table entries, expected at most 2^24, and " +
         std::to_string(choices) + " nodes have a choice, too many to search";
}

/// Bits for prices such that no sum leaves 128 bits; `magnitude` bounds the
/// priced sum in units of one.
static int bitsFor(double magnitude) {
  return std::clamp(98 - int(std::ceil(std::log2(magnitude + 1))), 0, 30);
}

/// The largest usage that each time can see.
static std::vector<double> mostUsage(const ExactProblem &exact) {
  std::vector<double> most(exact.times.size(), 0);
  for (const ExactProblem::Use &use : exact.uses) {
    double usage = double(std::ranges::max(use.usages));
    for (size_t t = use.times.begin; t < use.times.end; ++t) {
      most[t] += usage;
    }
  }
  return most;
}

static double sumOfCosts(const ExactProblem &exact) {
  double sum = 0;
  for (const Factor &factor : exact.costs) {
    double most = 0;
    for (Wide value : factor.values) {
      most = std::max(most,
                      value >= kForbiddenWideSum ? 0 : std::abs(double(value)));
    }
    sum += most;
  }
  return sum;
}

/// Tables at `prices`; those of a peak sum to about one.
Guide ExactSolver::guide(const ExactProblem &exact, Goal goal,
                         const std::vector<double> &prices, double maxTable) {
  double magnitude = goal == Goal::Cost ? sumOfCosts(exact) : 0;
  std::vector<double> most = mostUsage(exact);
  for (size_t t = 0; t != prices.size(); ++t) {
    magnitude += prices[t] * (most[t] + std::max(double(exact.limits[t]), 0.0));
  }
  Wide unit = Wide(1) << bitsFor(magnitude);
  Prices rounded;
  Wide sum = 0, atLimits = 0;
  for (size_t t = 0; t != prices.size(); ++t) {
    rounded.push_back(Wide(std::floor(prices[t] * double(unit))));
    sum += rounded.back();
    atLimits += rounded.back() * exact.limits[t];
  }
  bool isCost = goal == Goal::Cost;
  std::vector<Factor> factors =
      pricedFactors(exact, isCost ? unit : 0, rounded);
  return {
      Elimination(exact.sizes, order_, std::move(factors), maxTable, budget_),
      isCost ? unit : std::max<Wide>(sum, 1), atLimits};
}

/// How many eliminations a part of the budget pays for.
int ExactSolver::steps(double share) const {
  constexpr int kMost = 120;
  double each = 4 * std::min(sizes_.total, 1e9) + double(order_.size());
  return int(std::min<double>(kMost, share * double(budget_.left()) / each));
}

/// Subgradient steps towards a target above the bound, until memory is priced
/// well enough; the best prices.
std::vector<double> ExactSolver::priceLimit(const ExactProblem &exact,
                                            DepthFirst &search) {
  constexpr int kPatience = 6;
  std::vector<double> prices(exact.times.size(), 0), best = prices;
  std::optional<double> bound;
  double reach = 0;
  int idle = 0;
  for (int i = 0, count = steps(0.25); i <= count; ++i) {
    Guide now = guide(exact, Goal::Cost, prices, maxTableForPrices_);
    if (!now.tables.finished()) {
      break;
    }
    auto excess = search.descend(now);
    Wide value = now.value(now.tables.bound());
    if (now.tables.bound() >= kForbiddenWideSum || exact.times.empty() ||
        (search.value() && value >= *search.value())) {
      return prices;
    }
    idle = bound && double(value) <= *bound ? idle + 1 : 0;
    if (!bound || double(value) > *bound) {
      bound = double(value);
      best = prices;
    }
    reach = i == 0 ? 1 + 0.1 * std::abs(*bound) : reach;
    if (idle == kPatience) {
      reach *= 0.5;
      idle = 0;
    }
    if (!excess) {
      break; // Split buckets led into a dead end.
    }
    double norm = 0;
    std::vector<double> gradient;
    for (size_t t = 0; t != prices.size(); ++t) {
      gradient.push_back(double((*excess)[t]));
      norm += gradient[t] > 0 || prices[t] > 0 ? gradient[t] * gradient[t] : 0;
    }
    if (norm == 0) {
      break;
    }
    double target = *bound + reach;
    if (search.value()) {
      target = std::min(target, double(*search.value()));
    }
    double step = (target - double(value)) / norm;
    for (size_t t = 0; t != prices.size(); ++t) {
      prices[t] = std::max(0.0, prices[t] + step * gradient[t]);
    }
  }
  return best;
}

/// Multiplicative weights: the prices of a peak are a distribution over times,
/// and move to those that are used most.
std::vector<double> ExactSolver::pricePeak(const ExactProblem &exact,
                                           DepthFirst &search) {
  constexpr int kSteps = 40;
  size_t count = exact.times.size();
  std::vector<double> prices(count, count == 0 ? 0 : 1 / double(count));
  std::vector<double> best = prices;
  std::optional<Wide> bound;
  for (int i = 0, most = std::min(kSteps, steps(0.1)); i < most; ++i) {
    Guide now = guide(exact, Goal::Excess, prices, maxTableForPrices_);
    if (!now.tables.finished()) {
      break;
    }
    Wide value = now.value(now.tables.bound());
    if (!bound || value > *bound) {
      bound = value;
      best = prices;
    }
    auto usage = search.descend(now);
    if (!usage || usage->empty()) {
      break;
    }
    for (size_t t = 0; t != count; ++t) {
      (*usage)[t] += exact.limits[t];
    }
    double largest = std::max(1.0, double(std::ranges::max(*usage))), sum = 0;
    for (size_t t = 0; t != count; ++t) {
      prices[t] *= std::exp(2 * double((*usage)[t]) / largest);
      sum += prices[t];
    }
    for (double &price : prices) {
      price /= sum;
    }
  }
  return best;
}

Outcome ExactSolver::conclude(Outcome outcome) const {
  outcome.work = budget_.spent();
  outcome.stopped = budget_.why();
  return outcome;
}

Outcome ExactSolver::notFound(const std::string &why) {
  Outcome outcome;
  outcome.message = "not solved exactly: " + why + "; use another solver";
  return conclude(outcome);
}

Outcome ExactSolver::impossible(const std::string &why) {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  outcome.message = "whatever the memory limit, there is no assignment: " + why;
  return conclude(outcome);
}

/// The least peak of all assignments is the smallest limit that would do. If
/// the search for it is cut short, what was found still says that some limit
/// suffices.
Outcome ExactSolver::provedInfeasible(const ExactProblem &exact) {
  const std::string exclude = "the strategies of some nodes exclude each other";
  if (!problem_.isLimited()) {
    return impossible(exclude);
  }
  DepthFirst search(exact, order_, Goal::Excess, budget_);
  Guide guided =
      guide(exact, Goal::Excess, pricePeak(exact, search), maxTable_);
  bool proved = guided.tables.finished() && search.search(guided);
  if (!search.value() && proved) {
    return impossible(exclude);
  }
  std::optional<Excess> least;
  if (search.value()) {
    least = exceeded(problem_,
                     evaluate(problem_, exact.assignment(search.states())));
  }
  return conclude(problem_.numResources() == 1 ? tooLittle(least, proved)
                                               : tooLittleOfAll(least));
}

/// Of a problem with one limit, which the peak exceeds by `least` at least, if
/// that is `proved`.
Outcome ExactSolver::tooLittle(const std::optional<Excess> &least,
                               bool proved) const {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  Wide limit = *problem_.usageLimit, atLeast = limit + 1;
  outcome.message =
      "no assignment is within the limit of " + toString(limit) + " bytes";
  if (least) {
    Wide usage = least->peak.usage;
    outcome.time = least->peak.time;
    if (usage <= INT64_MAX) {
      outcome.limitEnough = int64_t(usage);
    }
    atLeast = proved ? usage : atLeast;
    outcome.message += ": at time " + std::to_string(least->peak.time) + " " +
                       (proved ? "at least " : "as few as ") + toString(usage) +
                       " bytes are in use, " + toString(least->excess) +
                       " more";
  }
  if (atLeast <= INT64_MAX) {
    outcome.limitAtLeast = int64_t(atLeast);
  }
  return outcome;
}

/// Of a problem with several: no limit of one alone says what would do.
Outcome ExactSolver::tooLittleOfAll(const std::optional<Excess> &least) const {
  Outcome outcome;
  outcome.verdict = Verdict::Infeasible;
  outcome.message = "no assignment is within the limits of all resources";
  if (least) {
    outcome.time = least->peak.time;
    outcome.resource = least->resource;
    outcome.message += ": at time " + std::to_string(least->peak.time) +
                       " as few as " + toString(least->peak.usage) + " bytes" +
                       ofResource(problem_, least->resource) + " are in use, " +
                       toString(least->excess) + " more than its limit";
  }
  return outcome;
}

/// The pricing finds answers on its way, which the search starts from.
Outcome ExactSolver::minimizeCost(const ExactProblem &exact) {
  DepthFirst search(exact, order_, Goal::Cost, budget_);
  search.onBetter = [&] {
    if (!options_.onProgress) {
      return;
    }
    Solution solution = evaluate(problem_, exact.assignment(search.states()));
    options_.onProgress({budget_.seconds(), budget_.spent(), solution.cost,
                         solution.lowerBound, "exact", &solution});
  };
  Guide guided = guide(exact, Goal::Cost, priceLimit(exact, search), maxTable_);
  bool proved = guided.tables.finished() && search.search(guided);
  if (search.value()) {
    Outcome outcome;
    outcome.verdict = Verdict::Solved;
    outcome.solution = evaluate(problem_, exact.assignment(search.states()));
    return conclude(outcome);
  }
  return proved ? provedInfeasible(exact)
                : notFound("the budget ended before any assignment was found");
}

/// Refuses by size first, then builds, plans and searches.
Outcome ExactSolver::solve() {
  budget_.look();
  if (auto why = tooLarge()) {
    return notFound(*why);
  }
  ExactProblem exact(problem_);
  if (exact.impossible) {
    return impossible("no strategy of node " +
                      std::to_string(*exact.impossible) +
                      " is compatible with those of its neighbours");
  }
  if (auto why = plan(exact)) {
    return notFound(*why);
  }
  return minimizeCost(exact);
}

Outcome solveExact(const Problem &problem, const Options &options) {
  return ExactSolver(problem, options).solve();
}

} // namespace divisi::search
