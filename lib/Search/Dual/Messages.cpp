//===- Messages.cpp - Sequential tree-reweighted message passing ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "MinPlus.h"
#include "lib/Search/Graph/EveryWidth.h"

#include <algorithm>
#include <span>

namespace divisi::search {

MessageLayout::MessageLayout(const CostGraph &graph) {
  uint32_t size = 0;
  for (const Pair &pair : graph.pairs) {
    first.push_back(size);
    size += padded(pair.table->rows);
    second.push_back(size);
    size += padded(pair.table->columns);
  }
  first.push_back(size);
}

/// Lays out costs and messages, padded, and gives each variable a slot for each
/// of its pairs: those with smaller partners first.
Messages::Messages(const CostGraph &graph) : graph_(&graph), layout_(graph) {
  uint32_t count = uint32_t(graph.variables.size());
  uint32_t states = 0, most = kLanes;
  for (const Variable &variable : graph.variables) {
    offsets_.push_back(states);
    states += padded(uint32_t(variable.costs.size()));
    most = std::max(most, padded(uint32_t(variable.costs.size())));
  }
  costs_.assign(states, 0);
  for (uint32_t v = 0; v != count; ++v) {
    std::ranges::copy(graph.variables[v].costs, costs_.begin() + offsets_[v]);
  }
  values_.assign(layout_.first.back(), 0);
  slotsOf_.resize(graph.pairs.size());
  for (uint32_t v = 0; v != count; ++v) {
    firstSlot_.push_back(uint32_t(slots_.size()));
    double before = 0, after = 0;
    middleSlot_.push_back(firstSlot_[v]);
    for (uint32_t p : graph.pairsOf[v]) {
      bool first = graph.pairs[p].first == v;
      (first ? after : before) += graph.pairs[p].weight;
      middleSlot_[v] += !first;
      slotsOf_[p][!first] = uint32_t(slots_.size());
      slots_.push_back(makeSlot(p, first));
    }
    shares_.push_back(1.0 / std::max({before, after, 1.0}));
  }
  firstSlot_.push_back(uint32_t(slots_.size()));
  replaced_.resize(graph.pairs.size());
  hat_.resize(most);
  chosen_.resize(most);
  sent_.resize(most);
  merged_.resize(most);
  received_.resize(most);
}

Messages::Slot Messages::makeSlot(uint32_t p, bool first) const {
  const Pair &pair = graph_->pairs[p];
  Slot slot;
  slot.other = first ? pair.second : pair.first;
  slot.weight = pair.weight;
  slot.in = first ? layout_.first[p] : layout_.second[p];
  slot.out = first ? layout_.second[p] : layout_.first[p];
  setTable(slot, *pair.table, first);
  return slot;
}

void Messages::setTable(Slot &slot, const Table &table, bool first) {
  auto orNull = [](const std::vector<uint32_t> &classes) {
    return classes.empty() ? nullptr : classes.data();
  };
  slot.table = first ? table.rounded.data() : table.transposed.data();
  slot.transposed = first ? table.transposed.data() : table.rounded.data();
  slot.rows = first ? table.distinctRows : table.distinctColumns;
  slot.columns = first ? table.distinctColumns : table.distinctRows;
  slot.stride = padded(slot.columns);
  slot.rowOf = orNull(first ? table.rowClass : table.columnClass);
  slot.columnOf = orNull(first ? table.columnClass : table.rowClass);
}

void Messages::setTable(uint32_t pair, std::shared_ptr<const Table> table) {
  replaced_[pair] = std::move(table);
  for (bool first : {true, false}) {
    setTable(slots_[slotsOf_[pair][!first]], *replaced_[pair], first);
  }
}

void Messages::save(std::vector<float> &messages) const {
  messages.clear();
  for (uint32_t p = 0; p != graph_->pairs.size(); ++p) {
    messages.insert(messages.end(), toFirst(p),
                    toFirst(p) + graph_->pairs[p].table->rows);
  }
}

void Messages::load(const std::vector<float> &messages) {
  const float *from = messages.data();
  for (uint32_t p = 0; p != graph_->pairs.size(); ++p) {
    uint32_t states = graph_->pairs[p].table->rows;
    std::copy(from, from + states, values_.begin() + layout_.first[p]);
    from += states;
  }
}

void Messages::belief(uint32_t v, std::vector<double> &hat) const {
  uint32_t states = graph_->numStates(v);
  hat.assign(costs_.begin() + offsets_[v],
             costs_.begin() + offsets_[v] + states);
  for (uint32_t s = firstSlot_[v]; s != firstSlot_[v + 1]; ++s) {
    const float *message = values_.data() + slots_[s].in;
    for (uint32_t i = 0; i != states; ++i) {
      hat[i] += message[i];
    }
  }
}

/// Sends from `v`, whose belief is in hat_. Returns what was taken off.
DIVISI_FOR_EVERY_WIDTH
double Messages::send(uint32_t v, const Slot &slot) {
  static const MinPlus minPlus = minPlusForThisProcessor();
  uint32_t states = graph_->numStates(v);
  const float *in = values_.data() + slot.in;
  // Taken off in double, so that little is lost by rounding.
  double share = shares_[v] * slot.weight;
  double least = share * hat_[0] - in[0];
  for (uint32_t i = 1; i != states; ++i) {
    least = std::min(least, share * hat_[i] - in[i]);
  }
  for (uint32_t i = 0; i != states; ++i) {
    sent_[i] = float(share * hat_[i] - in[i] - least);
  }
  const float *sent = sent_.data();
  if (slot.rowOf) {
    std::fill_n(merged_.begin(), slot.rows, float(kTop));
    for (uint32_t i = 0; i != states; ++i) {
      float &merged = merged_[slot.rowOf[i]];
      merged = std::min(merged, sent[i]);
    }
    sent = merged_.data();
  }
  float *out = values_.data() + slot.out;
  float *received = slot.columnOf ? received_.data() : out;
  minPlus(sent, slot.rows, slot.table, slot.stride, received);
  uint32_t others = graph_->numStates(slot.other);
  float smallest = received[0];
  for (uint32_t j = 1; j != slot.columns; ++j) {
    smallest = std::min(smallest, received[j]);
  }
  for (uint32_t j = 0; j != others; ++j) {
    out[j] = received[slot.columnOf ? slot.columnOf[j] : j] - smallest;
  }
  return least + smallest;
}

/// Leaves the belief of `v` in hat_. Returns the state that costs least given
/// those that are taken (`fixed`) and what the others (`open`) say.
DIVISI_FOR_EVERY_WIDTH
uint32_t Messages::visit(uint32_t v, std::span<const Slot> fixed,
                         std::span<const Slot> open, const Assignment &taken) {
  uint32_t states = graph_->numStates(v);
  const double *costs = costs_.data() + offsets_[v];
  std::copy(costs, costs + states, hat_.begin());
  for (const Slot &slot : open) {
    const float *message = values_.data() + slot.in;
    for (uint32_t i = 0; i != states; ++i) {
      hat_[i] += message[i];
    }
  }
  std::copy(hat_.begin(), hat_.begin() + states, chosen_.begin());
  for (const Slot &slot : fixed) {
    const float *message = values_.data() + slot.in;
    uint32_t column = taken[slot.other];
    column = slot.columnOf ? slot.columnOf[column] : column;
    const float *row = slot.transposed + size_t(column) * padded(slot.rows);
    if (slot.rowOf) {
      for (uint32_t i = 0; i != states; ++i) {
        hat_[i] += message[i];
        chosen_[i] += row[slot.rowOf[i]];
      }
    } else {
      for (uint32_t i = 0; i != states; ++i) {
        hat_[i] += message[i];
        chosen_[i] += row[i];
      }
    }
  }
  return uint32_t(std::min_element(chosen_.begin(), chosen_.begin() + states) -
                  chosen_.begin());
}

void Messages::forward(Assignment &taken) {
  taken.resize(graph_->variables.size());
  for (uint32_t v = 0; v != taken.size(); ++v) {
    taken[v] = visit(v, before(v), after(v), taken);
    for (const Slot &slot : after(v)) {
      send(v, slot);
    }
  }
}

double Messages::backward(Assignment &taken) {
  taken.resize(graph_->variables.size());
  double bound = 0;
  for (uint32_t v = uint32_t(taken.size()); v-- != 0;) {
    taken[v] = visit(v, after(v), before(v), taken);
    for (const Slot &slot : before(v)) {
      bound += send(v, slot);
    }
    double weight = 0;
    for (const Slot &slot : before(v)) {
      weight += slot.weight;
    }
    double kept = 1 - weight * shares_[v];
    bound += kept * *std::min_element(hat_.begin(),
                                      hat_.begin() + graph_->numStates(v));
  }
  return bound;
}

} // namespace divisi::search
