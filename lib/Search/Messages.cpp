//===- Messages.cpp - Message passing with a lower bound ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include <algorithm>

namespace divisi::search {

/// Keeps differences of messages exact; the bound stays valid.
static constexpr double kLargestMessage = 1e15;

Messages::Messages(const Model &model) : model_(&model) {
  for (const Link &link : model.links()) {
    messages_.emplace_back(model.numStates(link.u), 0);
    messages_.emplace_back(model.numStates(link.v), 0);
  }
  for (uint32_t v = 0; v != model.variables().size(); ++v) {
    size_t before = 0, after = 0;
    for (const Incidence &end : model.variables()[v].links) {
      ++(end.other < v ? before : after);
    }
    weight_.push_back(1.0 / double(std::max({before, after, size_t(1)})));
  }
}

uint32_t Messages::best(uint32_t v, bool ascending,
                        const Assignment &taken) const {
  std::vector<double> sum = model_->variables()[v].priced;
  for (const Incidence &end : model_->variables()[v].links) {
    bool decided = (end.other < v) == ascending;
    const double *add = message(end).data();
    if (decided) {
      Incidence reverse = {end.link, v, !end.first};
      add = model_->row(reverse, taken[end.other]);
    }
    for (size_t s = 0; s != sum.size(); ++s) {
      sum[s] += add[s];
    }
  }
  return uint32_t(std::ranges::min_element(sum) - sum.begin());
}

void Messages::visit(uint32_t v, bool ascending, Assignment &taken) {
  const Variable &variable = model_->variables()[v];
  taken[v] = best(v, ascending, taken);
  belief_ = variable.priced;
  for (const Incidence &end : variable.links) {
    const double *arrived = message(end).data();
    for (size_t s = 0; s != belief_.size(); ++s) {
      belief_[s] += arrived[s];
    }
  }
  double least = std::ranges::min(belief_);
  bound_ += least;
  for (double &belief : belief_) {
    belief -= least;
  }
  std::vector<double> out;
  for (const Incidence &end : variable.links) {
    if ((end.other > v) != ascending) {
      continue;
    }
    out.assign(model_->numStates(end.other), 4 * kForbidden);
    const double *arrived = message(end).data();
    double *to = out.data();
    size_t count = out.size();
    for (uint32_t s = 0; s != belief_.size(); ++s) {
      double own = weight_[v] * belief_[s] - arrived[s];
      const double *row = model_->row(end, s);
      for (size_t t = 0; t != count; ++t) {
        double value = own + row[t];
        to[t] = value < to[t] ? value : to[t];
      }
    }
    double offset = std::ranges::min(out);
    bound_ += offset;
    for (double &value : out) {
      value = std::min(value - offset, kLargestMessage);
    }
    std::ranges::copy(out, message({end.link, v, !end.first}).begin());
  }
}

Assignment Messages::forward() {
  uint32_t count = uint32_t(model_->variables().size());
  Assignment taken(count);
  for (uint32_t v = 0; v != count; ++v) {
    visit(v, true, taken);
  }
  return taken;
}

Assignment Messages::backward(double &bound) {
  uint32_t count = uint32_t(model_->variables().size());
  Assignment taken(count);
  bound_ = 0;
  for (uint32_t v = count; v-- != 0;) {
    visit(v, false, taken);
  }
  bound = bound_;
  return taken;
}

} // namespace divisi::search
