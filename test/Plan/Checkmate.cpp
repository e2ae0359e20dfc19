//===- Checkmate.cpp - Checkmate's integer program ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkmate.h"

#include "interfaces/highs_c_api.h"

#include <cmath>
#include <memory>

namespace divisi {
namespace {

/// Rows and columns as HiGHS takes them.
class Program {
public:
  Program(const CheckmateGraph &graph, int64_t limit, bool isFree);

  std::optional<int64_t> solve();

private:
  using Entry = std::pair<int, double>;

  unsigned size() const { return unsigned(graph_.costs.size()); }
  int column(double cost, double most, bool isInteger);
  void row(double least, double most, const std::vector<Entry> &entries);
  void addColumns(bool isFree);
  void addOrder();
  void addFrees(unsigned stage);
  void addMemory(unsigned stage);
  int run(unsigned stage, unsigned node) const { return run_[stage][node]; }
  int keep(unsigned stage, unsigned node) const { return keep_[stage][node]; }

  const CheckmateGraph &graph_;
  double limit_;
  std::vector<std::vector<unsigned>> users_;
  std::vector<std::vector<int>> run_, keep_; ///< R and S.
  /// Of a stage, per node k: the FREE of each operand of k, then of k.
  std::vector<std::vector<std::vector<int>>> free_;
  std::vector<double> cost_, upper_, value_, rowLower_, rowUpper_;
  std::vector<int> isInteger_, start_, index_;
};

} // namespace

Program::Program(const CheckmateGraph &graph, int64_t limit, bool isFree)
    : graph_(graph), limit_(double(limit)), users_(graph.costs.size()) {
  for (unsigned node = 0; node != size(); ++node) {
    for (unsigned operand : graph.operands[node]) {
      users_[operand].push_back(node);
    }
  }
  addColumns(isFree);
  addOrder();
  for (unsigned stage = 0; stage != size(); ++stage) {
    addFrees(stage);
    addMemory(stage);
  }
}

int Program::column(double cost, double most, bool isInteger) {
  cost_.push_back(cost);
  upper_.push_back(most);
  isInteger_.push_back(isInteger);
  return int(cost_.size()) - 1;
}

void Program::row(double least, double most,
                  const std::vector<Entry> &entries) {
  start_.push_back(int(index_.size()));
  rowLower_.push_back(least);
  rowUpper_.push_back(most);
  for (auto [column, coefficient] : entries) {
    index_.push_back(column);
    value_.push_back(coefficient);
  }
}

/// Frontier-advancing: node t runs in stage t, none after it.
void Program::addColumns(bool isFree) {
  for (unsigned stage = 0; stage != size() + 1; ++stage) {
    run_.emplace_back();
    keep_.emplace_back();
    for (unsigned node = 0; node != size(); ++node) {
      bool mayRun =
          node < stage && stage < size() &&
          (isFree || (stage >= graph_.forward && node < graph_.forward));
      run_.back().push_back(
          column(double(graph_.costs[node]), mayRun || node == stage, true));
      keep_.back().push_back(column(0, node < stage && stage < size(), true));
      if (node == stage) {
        row(1, 1, {{run(stage, node), 1}});
      }
    }
  }
}

void Program::addOrder() {
  for (unsigned stage = 0; stage != size(); ++stage) {
    for (unsigned node = 0; node != size(); ++node) {
      for (unsigned operand : graph_.operands[node]) {
        row(-INFINITY, 0,
            {{run(stage, node), 1},
             {run(stage, operand), -1},
             {keep(stage, operand), -1}});
      }
      if (stage > 0) {
        row(-INFINITY, 0,
            {{keep(stage, node), 1},
             {run(stage - 1, node), -1},
             {keep(stage - 1, node), -1}});
      }
    }
  }
}

/// FREE is 1 if and only if the hazards are 0.
void Program::addFrees(unsigned stage) {
  free_.emplace_back();
  for (unsigned k = 0; k != size(); ++k) {
    std::vector<int> &frees = free_.back().emplace_back();
    std::vector<unsigned> nodes = graph_.operands[k];
    nodes.push_back(k);
    for (unsigned node : nodes) {
      int free = column(0, k <= stage, true);
      frees.push_back(free);
      // h = 1 - R[t, k] + S[t + 1, i] + sum of R[t, j] of later users j
      std::vector<Entry> hazards = {{run(stage, k), -1},
                                    {keep(stage + 1, node), 1}};
      for (unsigned user : users_[node]) {
        if (user > k) {
          hazards.push_back({run(stage, user), 1});
        }
      }
      double most = double(hazards.size());
      std::vector<Entry> least = hazards, bound = hazards;
      least.push_back({free, 1});
      row(0, INFINITY, least); // 1 - FREE <= 1 + hazards
      bound.push_back({free, most});
      row(-INFINITY, most - 1, bound); // 1 + hazards <= most * (1 - FREE)
    }
  }
}

/// U[t, k] is a sum, which must not be above the limit.
void Program::addMemory(unsigned stage) {
  std::vector<Entry> use;
  for (unsigned node = 0; node != size(); ++node) {
    use.push_back({keep(stage, node), double(graph_.bytes[node])});
  }
  for (unsigned k = 0; k <= stage; ++k) {
    use.push_back({run(stage, k), double(graph_.bytes[k])});
    row(-INFINITY, limit_, use);
    const std::vector<int> &frees = free_.back()[k];
    for (size_t i = 0; i != frees.size(); ++i) {
      unsigned node = i + 1 == frees.size() ? k : graph_.operands[k][i];
      use.push_back({frees[i], -double(graph_.bytes[node])});
    }
  }
}

std::optional<int64_t> Program::solve() {
  std::unique_ptr<void, decltype(&Highs_destroy)> highs(Highs_create(),
                                                        &Highs_destroy);
  Highs_setBoolOptionValue(highs.get(), "output_flag", 0);
  Highs_setIntOptionValue(highs.get(), "threads", 1);
  Highs_setDoubleOptionValue(highs.get(), "mip_rel_gap", 0);
  std::vector<double> lower(cost_.size(), 0);
  start_.push_back(int(index_.size()));
  Highs_passMip(highs.get(), int(cost_.size()), int(rowLower_.size()),
                int(value_.size()), kHighsMatrixFormatRowwise,
                kHighsObjSenseMinimize, 0, cost_.data(), lower.data(),
                upper_.data(), rowLower_.data(), rowUpper_.data(),
                start_.data(), index_.data(), value_.data(), isInteger_.data());
  Highs_run(highs.get());
  if (Highs_getModelStatus(highs.get()) != kHighsModelStatusOptimal) {
    return std::nullopt;
  }
  return int64_t(std::llround(Highs_getObjectiveValue(highs.get())));
}

std::optional<int64_t> solveCheckmate(const CheckmateGraph &graph,
                                      int64_t limit, bool isFree) {
  return Program(graph, limit, isFree).solve();
}

} // namespace divisi
