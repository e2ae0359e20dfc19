//===- ExtractProgram.cpp - Extraction as an integer program --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/ExtractProgram.h"

#include "interfaces/highs_c_api.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <limits>

using namespace divisi;
using namespace divisi::optimize;
using llvm::BitVector;

static constexpr size_t kMostEntries = 4'000'000;
/// Scaled costs are at most that, and kept where they are.
static constexpr double kMostCost = 1e6;
/// What HiGHS may be wrong by: in scaled costs, and of what it says.
static constexpr double kTolerance = 1e-5, kRelativeTolerance = 1e-9;
/// No bound needs to be more: int64_t holds it twice.
static constexpr double kMost = 0x1p62;

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

int ExtractionProgram::addColumn(int64_t cost) {
  cost_.push_back(double(cost));
  return int(cost_.size()) - 1;
}

void ExtractionProgram::addColumns(uint32_t c) {
  const std::vector<uint32_t> &nodes = form_.nodes[c];
  int64_t least = leastCost(problem_, form_, c);
  if (!form_.isForced[c]) {
    classColumn_[c] = addColumn(least);
  }
  nodeColumns_[c].assign(nodes.size(), kNone);
  for (size_t i = 0; nodes.size() != 1 && i != nodes.size(); ++i) {
    nodeColumns_[c][i] = addColumn(problem_.classes[c][nodes[i]].cost - least);
  }
}

void ExtractionProgram::addRow(
    const std::vector<std::pair<int, double>> &entries, double most) {
  rowLower_.push_back(-std::numeric_limits<double>::infinity());
  rowUpper_.push_back(most);
  rowStart_.push_back(int(index_.size()));
  for (auto [column, value] : entries) {
    index_.push_back(column);
    value_.push_back(value);
  }
}

/// One row says that the nodes of a class are its only ones. The others are for
/// what is needed below some of the nodes, be it by their children: that of d
/// is left out where one of e, which itself needs d, is for these nodes and
/// others.
void ExtractionProgram::addRows(uint32_t c) {
  const std::vector<uint32_t> &nodes = form_.nodes[c];
  int own = classColumn_[c];
  std::vector<BitVector> needs;
  BitVector any(unsigned(form_.nodes.size()));
  std::vector<std::pair<int, double>> all;
  for (size_t i = 0; i != nodes.size(); ++i) {
    needs.push_back(needsOf(form_, problem_.classes[c][nodes[i]]));
    any |= needs.back();
    all.emplace_back(nodeColumns_[c][i], 1);
  }
  if (nodes.size() != 1) {
    if (own != kNone) {
      all.emplace_back(own, -1);
    }
    addRow(all, own == kNone ? 1 : 0);
    rowLower_.back() = rowUpper_.back();
  }
  std::vector<uint32_t> below; // Readers first.
  for (unsigned d : any.set_bits()) {
    if (classColumn_[d] != kNone) {
      below.push_back(d);
    }
  }
  std::ranges::sort(below, std::greater(),
                    [&](uint32_t d) { return place_[d]; });
  std::vector<std::pair<uint32_t, BitVector>> kept;
  for (uint32_t d : below) {
    BitVector who(unsigned(nodes.size()));
    for (unsigned i = 0; i != nodes.size(); ++i) {
      who[i] = needs[i][d];
    }
    if (std::ranges::none_of(kept, [&](const auto &other) {
          return form_.needed[other.first].test(d) && !who.test(other.second);
        })) {
      addNeed(c, d, who);
      kept.emplace_back(d, std::move(who));
    }
  }
}

/// What all nodes need is forced if the class is.
void ExtractionProgram::addNeed(uint32_t c, uint32_t d, const BitVector &who) {
  std::vector<std::pair<int, double>> row{{classColumn_[d], -1}};
  if (who.all()) {
    row.emplace_back(classColumn_[c], 1);
  } else {
    for (unsigned i : who.set_bits()) {
      row.emplace_back(nodeColumns_[c][i], 1);
    }
  }
  addRow(row, 0);
}

ExtractionProgram::ExtractionProgram(const ExtractionProblem &problem,
                                     const ExtractionForm &form)
    : problem_(problem), form_(form),
      classColumn_(problem.classes.size(), kNone),
      nodeColumns_(problem.classes.size()) {
  place_.resize(problem.classes.size());
  for (const uint32_t &c : form.order) {
    place_[c] = uint32_t(&c - form.order.data());
    addColumns(c);
  }
  for (uint32_t c : form.order) {
    addRows(c);
    if (isTooLarge()) {
      return;
    }
  }
  double most = cost_.empty() ? 0 : std::ranges::max(cost_);
  scale_ = most > kMostCost ? kMostCost / most : 1;
  for (double &cost : cost_) {
    cost *= scale_;
  }
}

bool ExtractionProgram::isTooLarge() const {
  return index_.size() + cost_.size() > kMostEntries;
}

/// The choices that an extraction makes lead to all that it takes, so that no
/// other makes all of them.
bool ExtractionProgram::exclude(const Extraction &extraction) {
  std::vector<std::pair<int, double>> row;
  for (uint32_t c : form_.order) {
    const std::vector<uint32_t> &nodes = form_.nodes[c];
    if (extraction.choice[c] && nodes.size() != 1) {
      auto at = std::ranges::lower_bound(nodes, *extraction.choice[c]);
      row.emplace_back(nodeColumns_[c][size_t(at - nodes.begin())], 1);
    }
  }
  addRow(row, double(row.size()) - 1);
  return !row.empty();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Of each class the node whose x is largest.
std::vector<uint32_t>
ExtractionProgram::preferences(const double *values) const {
  std::vector<uint32_t> preferred(problem_.classes.size());
  for (uint32_t c : form_.order) {
    const std::vector<int> &columns = nodeColumns_[c];
    size_t largest = 0;
    for (size_t i = 1; i < columns.size(); ++i) {
      largest = values[columns[i]] > values[columns[largest]] ? i : largest;
    }
    preferred[c] = form_.nodes[c][largest];
  }
  return preferred;
}

std::vector<double>
ExtractionProgram::values(const Extraction &extraction) const {
  std::vector<double> values(cost_.size());
  for (uint32_t c : form_.order) {
    const std::vector<uint32_t> &nodes = form_.nodes[c];
    if (classColumn_[c] != kNone) {
      values[size_t(classColumn_[c])] = extraction.choice[c].has_value();
    }
    for (size_t i = 0; nodes.size() != 1 && i != nodes.size(); ++i) {
      values[size_t(nodeColumns_[c][i])] = extraction.choice[c] == nodes[i];
    }
  }
  return values;
}

//===----------------------------------------------------------------------===//
// HiGHS
//===----------------------------------------------------------------------===//

struct ExtractionProgram::Run {
  const ExtractionProgram &program;
  const std::function<void(std::vector<uint32_t>)> &offer;
  int64_t iterations = 0; ///< At most.

  static void onCallback(int type, const char *,
                         const HighsCallbackDataOut *out,
                         HighsCallbackDataIn *in, void *self);
};

void ExtractionProgram::Run::onCallback(int type, const char *,
                                        const HighsCallbackDataOut *out,
                                        HighsCallbackDataIn *in, void *self) {
  Run &run = *static_cast<Run *>(self);
  if (type == kHighsCallbackMipInterrupt) {
    in->user_interrupt = out->mip_total_lp_iterations > run.iterations;
  } else if (type == kHighsCallbackMipImprovingSolution && out->mip_solution &&
             size_t(out->mip_solution_size) == run.program.cost_.size()) {
    run.offer(run.program.preferences(out->mip_solution));
  }
}

/// Dominated nodes are of no use for the best.
void ExtractionProgram::pass(void *highs, bool isBest) const {
  std::vector<double> lower(cost_.size(), 0), upper(cost_.size(), 1);
  for (uint32_t c : form_.order) {
    for (size_t i = 0; i != form_.nodes[c].size(); ++i) {
      if (isBest && form_.isDominated[c][i]) {
        upper[size_t(nodeColumns_[c][i])] = 0;
      }
    }
  }
  std::vector<int> isInteger(cost_.size(), 1);
  Highs_passMip(
      highs, int(cost_.size()), int(rowLower_.size()), int(value_.size()),
      kHighsMatrixFormatRowwise, kHighsObjSenseMinimize, 0, cost_.data(),
      lower.data(), upper.data(), rowLower_.data(), rowUpper_.data(),
      rowStart_.data(), index_.data(), value_.data(), isInteger.data());
}

/// Costs are integers: what is more than one is the next, at least.
ProgramRun ExtractionProgram::conclude(void *highs, const Run &run) const {
  ProgramRun result;
  int count = 0;
  Highs_getIntInfoValue(highs, "simplex_iteration_count", &count);
  result.iterations = std::max(count, 0);
  Highs_getInt64InfoValue(highs, "mip_node_count", &result.nodes);
  result.nodes = std::max<int64_t>(result.nodes, 0);
  int status = 0;
  Highs_getIntInfoValue(highs, "primal_solution_status", &status);
  bool isFeasible = status == kHighsSolutionStatusFeasible;
  if (isFeasible) {
    std::vector<double> values(cost_.size());
    Highs_getSolution(highs, values.data(), nullptr, nullptr, nullptr);
    run.offer(preferences(values.data()));
  }
  double bound = 0;
  if (Highs_getDoubleInfoValue(highs, "mip_dual_bound", &bound) ==
          kHighsStatusOk &&
      std::isfinite(bound)) {
    double lowered =
        bound - std::max(kTolerance, kRelativeTolerance * std::abs(bound));
    result.bound = form_.forcedCost +
                   int64_t(std::clamp(std::ceil(lowered / scale_), 0.0, kMost));
  }
  int ended = Highs_getModelStatus(highs);
  if (ended == kHighsModelStatusOptimal && isFeasible) {
    result.end = ProgramRun::End::Optimal;
  } else if (ended == kHighsModelStatusInfeasible) {
    result.end = ProgramRun::End::Infeasible;
  }
  return result;
}

/// One thread and a seed: the same run each time.
ProgramRun ExtractionProgram::run(
    bool isBest, const Extraction *start, const ExtractionLimits &left,
    const std::function<void(std::vector<uint32_t>)> &offer) const {
  if (cost_.empty()) { // Nobody has a choice.
    offer(preferences(nullptr));
    return {ProgramRun::End::Optimal, form_.forcedCost};
  }
  std::unique_ptr<void, decltype(&Highs_destroy)> highs(Highs_create(),
                                                        &Highs_destroy);
  Highs_setBoolOptionValue(highs.get(), "output_flag", 0);
  Highs_setIntOptionValue(highs.get(), "threads", 1);
  Highs_setStringOptionValue(highs.get(), "parallel", "off");
  Highs_setIntOptionValue(highs.get(), "random_seed", 1);
  // The baseline gives a start.
  Highs_setBoolOptionValue(highs.get(), "mip_heuristic_run_feasibility_jump",
                           0);
  Highs_setDoubleOptionValue(highs.get(), "mip_rel_gap", 0);
  Highs_setDoubleOptionValue(highs.get(), "mip_abs_gap", 1e-6);
  Highs_setDoubleOptionValue(highs.get(), "mip_feasibility_tolerance", 1e-9);
  Highs_setIntOptionValue(highs.get(), "mip_max_nodes",
                          int(std::clamp<int64_t>(left.nodes, 0, INT_MAX)));
  Run run{*this, offer, left.iterations};
  Highs_setCallback(highs.get(), Run::onCallback, &run);
  Highs_startCallback(highs.get(), kHighsCallbackMipInterrupt);
  Highs_startCallback(highs.get(), kHighsCallbackMipImprovingSolution);
  pass(highs.get(), isBest);
  if (start) {
    std::vector<double> from = values(*start);
    Highs_setSolution(highs.get(), from.data(), nullptr, nullptr, nullptr);
  }
  Highs_run(highs.get());
  return conclude(highs.get(), run);
}
