//===- ExtractForm.cpp - What extractions may take ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/ExtractForm.h"

#include "divisi/Support/CheckedMath.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::optimize;
using llvm::BitVector;

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

static std::string nameOf(size_t c, size_t node) {
  return "node " + std::to_string(node) + " of class " + std::to_string(c);
}

static Status checkNode(const ExtractionProblem &problem, size_t c,
                        size_t node) {
  const ExtractionNode &checked = problem.classes[c][node];
  if (checked.cost < 0) {
    return makeError(ExitCode::Invalid, nameOf(c, node), " costs ",
                     checked.cost, ", expected a cost of at least 0");
  }
  std::vector<uint32_t> children = checked.children;
  std::ranges::sort(children);
  if (!children.empty() && children.back() >= problem.classes.size()) {
    return makeError(ExitCode::Invalid, nameOf(c, node), " reads class ",
                     children.back(), ", expected one of the ",
                     problem.classes.size(), " classes that there are");
  }
  auto twice = std::ranges::adjacent_find(children);
  return twice == children.end()
             ? Status()
             : makeError(ExitCode::Invalid, nameOf(c, node), " reads class ",
                         *twice, " twice, expected each class once");
}

static Status checkProblem(const ExtractionProblem &problem) {
  std::optional<int64_t> all = 0;
  for (size_t c = 0; c != problem.classes.size(); ++c) {
    int64_t most = 0;
    for (size_t node = 0; node != problem.classes[c].size(); ++node) {
      if (Status status = checkNode(problem, c, node); !status.isOk()) {
        return status;
      }
      most = std::max(most, problem.classes[c][node].cost);
    }
    all = all ? checkedAdd(*all, most) : all;
  }
  if (!all) {
    return makeError(ExitCode::Invalid,
                     "the costs of an extraction may be more than int64 holds; "
                     "count them in a larger unit");
  }
  for (uint32_t root : problem.roots) {
    if (root >= problem.classes.size()) {
      return makeError(ExitCode::Invalid, "class ", root,
                       " is a root, expected one of the ",
                       problem.classes.size(), " classes that there are");
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ordering
//===----------------------------------------------------------------------===//

/// A class that reads itself through the classes in `left`, each of which reads
/// another of them, and how.
static Status describeCircle(const ExtractionProblem &problem,
                             const std::vector<uint32_t> &left) {
  uint32_t c = uint32_t(
      std::ranges::find_if(left, [](uint32_t n) { return n; }) - left.begin());
  std::vector<uint32_t> path;
  while (std::ranges::find(path, c) == path.end()) {
    path.push_back(c);
    auto next = [&]() -> uint32_t {
      for (const ExtractionNode &node : problem.classes[c]) {
        for (uint32_t child : node.children) {
          if (left[child]) {
            return child;
          }
        }
      }
      return c;
    };
    c = next();
  }
  std::string circle;
  for (auto at = std::ranges::find(path, c); at != path.end(); ++at) {
    circle += std::to_string(*at) + " -> ";
  }
  return makeError(ExitCode::Invalid, "classes read each other in a circle, ",
                   circle, c, "; expected an acyclic e-graph");
}

/// All classes, children first, whatever node is taken.
static Expected<std::vector<uint32_t>>
orderAll(const ExtractionProblem &problem) {
  size_t size = problem.classes.size();
  std::vector<uint32_t> left(size), order; // `left`: children without a place.
  std::vector<std::vector<uint32_t>> readers(size);
  for (size_t c = 0; c != size; ++c) {
    for (const ExtractionNode &node : problem.classes[c]) {
      for (uint32_t child : node.children) {
        ++left[c];
        readers[child].push_back(uint32_t(c));
      }
    }
  }
  for (size_t c = 0; c != size; ++c) {
    if (left[c] == 0) {
      order.push_back(uint32_t(c));
    }
  }
  for (size_t i = 0; i != order.size(); ++i) {
    for (uint32_t reader : readers[order[i]]) {
      if (--left[reader] == 0) {
        order.push_back(reader);
      }
    }
  }
  if (order.size() != size) {
    return describeCircle(problem, left);
  }
  return order;
}

int64_t divisi::optimize::leastCost(const ExtractionProblem &problem,
                                    const ExtractionForm &form, uint32_t c) {
  int64_t least = problem.classes[c][form.nodes[c].front()].cost;
  for (uint32_t node : form.nodes[c]) {
    least = std::min(least, problem.classes[c][node].cost);
  }
  return least;
}

/// What all extractions pay at least.
static int64_t payForced(const ExtractionProblem &problem,
                         const ExtractionForm &form) {
  int64_t sum = 0;
  for (uint32_t c : form.order) {
    sum += form.isForced[c] ? leastCost(problem, form, c) : 0;
  }
  return sum;
}

Expected<ExtractionForm>
divisi::optimize::orderClasses(const ExtractionProblem &problem) {
  if (Status status = checkProblem(problem); !status.isOk()) {
    return status;
  }
  Expected<std::vector<uint32_t>> order = orderAll(problem);
  if (!order) {
    return order.status();
  }
  size_t size = problem.classes.size();
  ExtractionForm form;
  form.nodes.resize(size);
  for (uint32_t c : *order) {
    for (size_t node = 0; node != problem.classes[c].size(); ++node) {
      if (std::ranges::none_of(
              problem.classes[c][node].children,
              [&](uint32_t child) { return form.nodes[child].empty(); })) {
        form.nodes[c].push_back(uint32_t(node));
      }
    }
  }
  form.isForced.assign(size, 0);
  for (uint32_t root : problem.roots) {
    if (form.nodes[root].empty()) {
      return makeError(ExitCode::Invalid, "class ", root,
                       " is a root and cannot be computed: each of its nodes "
                       "needs a class that has none");
    }
    form.isForced[root] = 1;
  }
  std::vector<char> isReached = form.isForced;
  for (auto c = order->rbegin(); c != order->rend(); ++c) {
    if (!isReached[*c]) {
      form.nodes[*c].clear();
    }
    for (uint32_t node : form.nodes[*c]) {
      for (uint32_t child : problem.classes[*c][node].children) {
        isReached[child] = 1;
      }
    }
  }
  form.isDominated.resize(size);
  for (uint32_t c : *order) {
    form.isDominated[c].assign(form.nodes[c].size(), 0);
    if (!form.nodes[c].empty()) {
      form.order.push_back(c);
    }
  }
  form.forcedCost = payForced(problem, form);
  return form;
}

//===----------------------------------------------------------------------===//
// Forced and dominated
//===----------------------------------------------------------------------===//

/// Marks those nodes of a class in whose place another can stand: one that
/// costs no more and reads only what they need anyway. `needs` is per node.
static void findDominated(const std::vector<ExtractionNode> &all,
                          const std::vector<uint32_t> &nodes,
                          const std::vector<BitVector> &needs,
                          std::vector<char> &isDominated) {
  for (size_t i = nodes.size(); i-- != 0;) {
    for (size_t j = 0; j != nodes.size() && !isDominated[i]; ++j) {
      const ExtractionNode &other = all[nodes[j]];
      isDominated[i] = i != j && !isDominated[j] &&
                       other.cost <= all[nodes[i]].cost &&
                       std::ranges::all_of(other.children, [&](uint32_t child) {
                         return needs[i].test(child);
                       });
    }
  }
}

BitVector divisi::optimize::needsOf(const ExtractionForm &form,
                                    const ExtractionNode &node) {
  BitVector needs(unsigned(form.nodes.size()));
  for (uint32_t child : node.children) {
    needs |= form.needed[child];
  }
  return needs;
}

void divisi::optimize::findForced(const ExtractionProblem &problem,
                                  ExtractionForm &form) {
  form.needed.resize(problem.classes.size());
  for (uint32_t c : form.order) {
    std::vector<BitVector> needs; // Of each node.
    for (uint32_t node : form.nodes[c]) {
      needs.push_back(needsOf(form, problem.classes[c][node]));
    }
    findDominated(problem.classes[c], form.nodes[c], needs,
                  form.isDominated[c]);
    form.needed[c] = needs.front();
    for (const BitVector &other : needs) {
      form.needed[c] &= other;
    }
    form.needed[c].set(c);
  }
  for (uint32_t root : problem.roots) {
    for (unsigned c : form.needed[root].set_bits()) {
      form.isForced[c] = 1;
    }
  }
  form.forcedCost = payForced(problem, form);
}
