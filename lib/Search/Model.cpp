//===- Model.cpp - A problem as solvers want it ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <algorithm>
#include <map>

namespace divisi::search {

static double toDouble(int64_t cost) {
  return cost >= kInfeasible ? kForbidden : double(cost);
}

Model::Model(const Problem &problem) {
  if (problem.usageLimit) {
    limit_ = double(*problem.usageLimit);
  }
  compressTime(problem);
  for (const Node &node : problem.nodes) {
    Variable &variable = variables_.emplace_back();
    std::ranges::transform(node.costs, std::back_inserter(variable.base),
                           toDouble);
    variable.usages = &node.usages;
    variable.begin = segment(node.live.begin);
    variable.end = segment(node.live.end);
  }
  addLinks(problem);
  for (uint32_t i = 0; i != links_.size(); ++i) {
    const Link &link = links_[i];
    variables_[link.u].links.push_back({i, link.v, true});
    variables_[link.v].links.push_back({i, link.u, false});
    size_ += int64_t(numStates(link.u)) * int64_t(numStates(link.v));
  }
  for (Variable &variable : variables_) {
    size_ += int64_t(variable.base.size());
    variable.priced = variable.base;
  }
}

void Model::compressTime(const Problem &problem) {
  for (const Node &node : problem.nodes) {
    times_.push_back(node.live.begin);
    times_.push_back(node.live.end);
  }
  for (const Edge &edge : problem.edges) {
    if (edge.usages) {
      times_.push_back(edge.live.begin);
      times_.push_back(edge.live.end);
    }
  }
  std::ranges::sort(times_);
  times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
}

size_t Model::segment(int64_t time) const {
  return size_t(std::ranges::lower_bound(times_, time) - times_.begin());
}

bool Model::fold(const Edge &edge, const Matrix &matrix) {
  if (edge.usages) {
    return false;
  }
  std::vector<double> &from = variables_[edge.from].base;
  std::vector<double> &to = variables_[edge.to].base;
  if (edge.from == edge.to) {
    for (uint32_t s = 0; s != from.size(); ++s) {
      from[s] += toDouble(matrix.at(s, s));
    }
    return true;
  }
  if (from.size() != 1 && to.size() != 1) {
    return false;
  }
  std::vector<double> &target = from.size() == 1 ? to : from;
  for (size_t s = 0; s != target.size(); ++s) {
    target[s] += toDouble(matrix.entries[s]);
  }
  return true;
}

void Model::addLinks(const Problem &problem) {
  std::map<std::pair<uint32_t, bool>, uint32_t> tableOf;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> linkOf;
  std::vector<bool> merged;
  for (const Edge &edge : problem.edges) {
    const Matrix &matrix = problem.matrices[edge.costs];
    if (fold(edge, matrix)) {
      continue;
    }
    bool swap = edge.from > edge.to;
    Link link;
    link.u = std::min(edge.from, edge.to);
    link.v = std::max(edge.from, edge.to);
    auto shared = tableOf.try_emplace({edge.costs, swap}, 0);
    if (shared.second) {
      shared.first->second = addTable(matrix, swap);
    }
    link.table = link.base = shared.first->second;
    if (edge.usages) {
      link.usages = &problem.matrices[*edge.usages];
      link.swapped = swap;
      link.begin = segment(edge.live.begin);
      link.end = segment(edge.live.end);
      link.table = addTable(matrix, swap);
    } else {
      auto [it, isNew] =
          linkOf.try_emplace({link.u, link.v}, uint32_t(links_.size()));
      if (!isNew) {
        Link &first = links_[it->second];
        if (!merged[it->second]) {
          merged[it->second] = true;
          tables_.push_back(Table(tables_[first.table]));
          first.table = first.base = uint32_t(tables_.size() - 1);
        }
        addTo(first.table, matrix, swap);
        continue;
      }
    }
    links_.push_back(link);
    merged.push_back(false);
  }
}

uint32_t Model::addTable(const Matrix &matrix, bool transposed) {
  Table &table = tables_.emplace_back();
  table.rows = transposed ? matrix.columns : matrix.rows;
  table.columns = transposed ? matrix.rows : matrix.columns;
  table.forward.assign(matrix.entries.size(), 0);
  table.backward.assign(matrix.entries.size(), 0);
  addTo(uint32_t(tables_.size() - 1), matrix, transposed);
  return uint32_t(tables_.size() - 1);
}

void Model::addTo(uint32_t index, const Matrix &matrix, bool transposed) {
  Table &table = tables_[index];
  auto &straight = transposed ? table.backward : table.forward;
  auto &turned = transposed ? table.forward : table.backward;
  for (uint32_t r = 0; r != matrix.rows; ++r) {
    for (uint32_t c = 0; c != matrix.columns; ++c) {
      double cost = toDouble(matrix.at(r, c));
      straight[size_t(r) * matrix.columns + c] += cost;
      turned[size_t(c) * matrix.rows + r] += cost;
    }
  }
}

int64_t Model::linkUsage(const Link &link, uint32_t u, uint32_t v) const {
  return link.swapped ? link.usages->at(v, u) : link.usages->at(u, v);
}

void Model::setPrices(const std::vector<double> &prices) {
  std::vector<double> sum(times_.size() + 1, 0);
  for (size_t t = 0; t != times_.size(); ++t) {
    sum[t + 1] = sum[t] + prices[t];
  }
  for (Variable &variable : variables_) {
    double price = sum[variable.end] - sum[variable.begin];
    for (size_t s = 0; s != variable.base.size(); ++s) {
      variable.priced[s] =
          variable.base[s] + price * double((*variable.usages)[s]);
    }
  }
  for (Link &link : links_) {
    if (!link.usages) {
      continue;
    }
    double price = sum[link.end] - sum[link.begin];
    const Table &base = tables_[link.base];
    Table &table = tables_[link.table];
    for (uint32_t r = 0; r != base.rows; ++r) {
      for (uint32_t c = 0; c != base.columns; ++c) {
        size_t at = size_t(r) * base.columns + c;
        table.forward[at] =
            base.forward[at] + price * double(linkUsage(link, r, c));
        table.backward[size_t(c) * base.rows + r] = table.forward[at];
      }
    }
  }
}

double Model::pricedCost(const Assignment &assignment) const {
  double total = 0;
  for (size_t v = 0; v != variables_.size(); ++v) {
    total += variables_[v].priced[assignment[v]];
  }
  for (const Link &link : links_) {
    total += row({uint32_t(&link - links_.data()), link.v, true},
                 assignment[link.u])[assignment[link.v]];
  }
  return total;
}

double Model::cost(const Assignment &assignment) const {
  double total = 0;
  for (size_t v = 0; v != variables_.size(); ++v) {
    total += variables_[v].base[assignment[v]];
  }
  for (const Link &link : links_) {
    const Table &table = tables_[link.base];
    total += table.forward[size_t(assignment[link.u]) * table.columns +
                           assignment[link.v]];
  }
  return total;
}

Usage Model::usage(const Assignment &assignment) const {
  Usage usage(times_.size() + 1, 0);
  for (size_t v = 0; v != variables_.size(); ++v) {
    const Variable &variable = variables_[v];
    if (variable.begin < variable.end) {
      double used = double((*variable.usages)[assignment[v]]);
      usage[variable.begin] += used;
      usage[variable.end] -= used;
    }
  }
  for (const Link &link : links_) {
    if (link.usages && link.begin < link.end) {
      double used =
          double(linkUsage(link, assignment[link.u], assignment[link.v]));
      usage[link.begin] += used;
      usage[link.end] -= used;
    }
  }
  for (size_t t = 1; t < usage.size(); ++t) {
    usage[t] += usage[t - 1];
  }
  usage.resize(times_.size());
  return usage;
}

double Model::excess(const Usage &usage) const {
  if (!limit_ || usage.empty()) {
    return 0;
  }
  return *std::ranges::max_element(usage) - *limit_;
}

} // namespace divisi::search
