//===- SortNodes.cpp - Nodes after what they depend on --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SortNodes.h"

#include "OnnxConverter.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>
#include <vector>

using namespace divisi;

namespace {

/// Which of the nodes of one graph make what the others read.
class Dependences {
public:
  explicit Dependences(
      const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes);

  /// Whether every node stands behind those that it depends on.
  bool areInOrder() const;
  /// The nodes in the new order; fewer than there are if some depend on
  /// themselves.
  std::vector<int> order() const;
  /// A node that depends on itself, among those that are not `ordered`.
  int onCycle(const std::vector<int> &ordered) const;

private:
  void readBy(const onnx::NodeProto &node, int reader,
              const std::set<std::string> &local);

  std::unordered_map<std::string, int> makers_; ///< By what they make.
  std::vector<std::set<int>> before_;           ///< By node.
};

} // namespace

Dependences::Dependences(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes)
    : before_(static_cast<size_t>(nodes.size())) {
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string &name : nodes[i].output()) {
      if (!name.empty()) {
        makers_.emplace(name, i);
      }
    }
  }
  for (int i = 0; i < nodes.size(); ++i) {
    readBy(nodes[i], i, {});
  }
}

/// Notes what `node`, and graphs in its attributes, read for `reader`; `local`
/// are names of the graphs around it.
void Dependences::readBy(const onnx::NodeProto &node, int reader,
                         const std::set<std::string> &local) {
  auto note = [&](const std::string &name, const std::set<std::string> &known) {
    auto maker = makers_.find(name);
    if (maker != makers_.end() && !known.count(name)) {
      before_[static_cast<size_t>(reader)].insert(maker->second);
    }
  };
  for (const std::string &name : node.input()) {
    note(name, local);
  }
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    const onnx::GraphProto &graph = attribute.g();
    std::set<std::string> inner = local;
    for (const auto &value : graph.input()) {
      inner.insert(value.name());
    }
    for (const auto &value : graph.initializer()) {
      inner.insert(value.name());
    }
    for (const onnx::NodeProto &each : graph.node()) {
      inner.insert(each.output().begin(), each.output().end());
    }
    for (const onnx::NodeProto &each : graph.node()) {
      readBy(each, reader, inner);
    }
    for (const auto &value : graph.output()) {
      note(value.name(), inner);
    }
  }
}

bool Dependences::areInOrder() const {
  for (size_t i = 0; i < before_.size(); ++i) {
    if (!before_[i].empty() && *before_[i].rbegin() >= static_cast<int>(i)) {
      return false;
    }
  }
  return true;
}

std::vector<int> Dependences::order() const {
  std::vector<std::vector<int>> readers(before_.size());
  std::vector<size_t> missing(before_.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < before_.size(); ++i) {
    missing[i] = before_[i].size();
    for (int maker : before_[i]) {
      readers[static_cast<size_t>(maker)].push_back(static_cast<int>(i));
    }
    if (missing[i] == 0) {
      ready.push(static_cast<int>(i));
    }
  }
  std::vector<int> result;
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    result.push_back(next);
    for (int reader : readers[static_cast<size_t>(next)]) {
      if (--missing[static_cast<size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  return result;
}

// Whoever is not ordered waits for another one that is not: one that is met
// again waits for itself.
int Dependences::onCycle(const std::vector<int> &ordered) const {
  std::set<int> done(ordered.begin(), ordered.end()), met;
  int at = 0;
  while (done.count(at)) {
    ++at;
  }
  while (met.insert(at).second) {
    const std::set<int> &before = before_[static_cast<size_t>(at)];
    at = *std::find_if(before.begin(), before.end(),
                       [&](int node) { return !done.count(node); });
  }
  return at;
}

bool divisi::sortNodes(
    google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes) {
  Dependences dependences(nodes);
  if (dependences.areInOrder()) {
    return false;
  }
  std::vector<int> order = dependences.order();
  if (static_cast<int>(order.size()) < nodes.size()) {
    throwError(ExitCode::Invalid, describe(nodes[dependences.onCycle(order)]) +
                                      " depends on its own results");
  }
  std::vector<onnx::NodeProto *> taken(order.size());
  nodes.ExtractSubrange(0, nodes.size(), taken.data());
  for (int at : order) {
    nodes.AddAllocated(taken[static_cast<size_t>(at)]);
  }
  return true;
}
