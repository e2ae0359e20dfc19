//===- VerifyOrder.cpp - Whether ranks can go on together -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of all instructions of all programs, in which what a group of ranks
// does together is one node:
//
//   program 0   call ─ send 0 ─ call ─ send 1 ─ …
//                        │               │
//   program 1          receive 0 ─ …   receive 1
//
// Edges (─) are the order of a queue, and `after`, and that in which steps of
// devices stand in the list, since a rank puts them on queues so; what │ joins
// is one node. An order of the nodes is one in which all ranks can run.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyOrder.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

using Node = uint32_t;

static uint32_t tagOf(const pb::Instruction &instruction) {
  return instruction.has_transfer() ? instruction.transfer().tag()
                                    : instruction.collective().tag();
}

namespace {

class OrderVerifier {
public:
  OrderVerifier(const ResolvedManifest &resolved, const ResolvedEntry &entry);

  Status run();

private:
  bool isUsed(int communicator) const;
  Status joinMeetings(int communicator);
  void joinBarriers();
  Status joinPrograms(int communicator, size_t first, size_t second);
  std::vector<size_t> programsThatMeet(int communicator) const;
  void addEdges(size_t program);
  Status findOrder();
  Status cycleError(const std::vector<uint32_t> &waiting) const;

  Node nodeOf(size_t program, int instruction) const {
    return leader_[begin_[program] + instruction];
  }
  std::string describe(Node node) const;

  const ResolvedManifest &resolved_;
  const ResolvedEntry &entry_;
  std::vector<Node> begin_; ///< Per program, its first instruction.
  /// Per instruction: which stands for all that are one with it.
  std::vector<Node> leader_;
  /// [program][queue]: what is on it.
  std::vector<std::map<uint32_t, std::vector<int>>> queues_;
  std::vector<std::pair<Node, Node>> edges_; ///< From what comes first.
};

} // namespace

OrderVerifier::OrderVerifier(const ResolvedManifest &resolved,
                             const ResolvedEntry &entry)
    : resolved_(resolved), entry_(entry), queues_(entry.programs.size()) {
  Node next = 0;
  for (size_t p = 0; p < entry.programs.size(); ++p) {
    const pb::Program &program = *entry.programs[p].message;
    begin_.push_back(next);
    next += program.instructions_size();
    for (int i = 0; i < program.instructions_size(); ++i) {
      queues_[p][program.instructions(i).queue()].push_back(i);
    }
  }
  leader_.resize(next);
  std::iota(leader_.begin(), leader_.end(), 0);
}

bool OrderVerifier::isUsed(int communicator) const {
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto &queues) {
    return queues.contains(firstCommunicator + communicator);
  });
}

/// Per program one of those that its ranks meet on `communicator`, directly or
/// through others: the first, for all of them. Transfers join both grids.
std::vector<size_t> OrderVerifier::programsThatMeet(int communicator) const {
  const pb::Communicator &message =
      resolved_.manifest->communicators(communicator);
  std::vector<size_t> first(entry_.programs.size());
  if (message.has_target()) {
    auto has = [&](const auto &queues) {
      return queues.contains(firstCommunicator + communicator);
    };
    auto it = std::find_if(queues_.begin(), queues_.end(), has);
    std::fill(first.begin(), first.end(), it - queues_.begin());
    return first;
  }
  std::iota(first.begin(), first.end(), 0);
  auto find = [&](size_t program) {
    while (first[program] != program) {
      program = first[program] = first[first[program]];
    }
    return program;
  };
  const GridInfo &grid = resolved_.grids[message.grid()];
  std::vector<uint32_t> others;
  for (uint32_t axis = 0; axis < grid.sizes.size(); ++axis) {
    if (std::find(message.axes().begin(), message.axes().end(), axis) ==
        message.axes().end()) {
      others.push_back(axis);
    }
  }
  std::map<int64_t, size_t> ofGroup;
  for (size_t position = 0; position < grid.numPositions(); ++position) {
    auto program = entry_.programOfRank.find(grid.devices[position]);
    if (program == entry_.programOfRank.end()) {
      continue;
    }
    auto [it, isNew] =
        ofGroup.emplace(grid.shardIndex(position, others), program->second);
    size_t a = find(it->second), b = find(program->second);
    first[std::max(a, b)] = std::min(a, b);
  }
  for (size_t program = 0; program < first.size(); ++program) {
    first[program] = find(program);
  }
  return first;
}

/// Makes each collective of both programs one node.
Status OrderVerifier::joinPrograms(int communicator, size_t first,
                                   size_t second) {
  uint32_t queue = firstCommunicator + communicator;
  const std::vector<int> &a = queues_[first][queue];
  const std::vector<int> &b = queues_[second][queue];
  const pb::Program &p = *entry_.programs[first].message;
  const pb::Program &q = *entry_.programs[second].message;
  // As many: what all take part in is on the same communicator for all.
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    uint32_t tag = tagOf(q.instructions(b[i]));
    if (uint32_t other = tagOf(p.instructions(a[i])); other != tag) {
      return makeError(ExitCode::Invalid,
                       describeInstruction(entry_, second, b[i]), ": tag ", tag,
                       " comes where other ranks of communicator '",
                       nameOfQueue(*resolved_.manifest, queue), "' have tag ",
                       other, "; all must have one order");
    }
    leader_[begin_[second] + b[i]] = nodeOf(first, a[i]);
  }
  return {};
}

Status OrderVerifier::joinMeetings(int communicator) {
  std::vector<size_t> first = programsThatMeet(communicator);
  for (size_t program = 0; program < first.size(); ++program) {
    if (program == first[program] ||
        !queues_[program].contains(firstCommunicator + communicator)) {
      continue;
    }
    Status status = joinPrograms(communicator, first[program], program);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

/// A commit is one for all programs, and so is a loop: what its body does
/// together is verified as that of an entry.
void OrderVerifier::joinBarriers() {
  constexpr int64_t commit = -1;
  std::map<int64_t, Node> first; // by body
  for (size_t p = 0; p < entry_.programs.size(); ++p) {
    const pb::Program &program = *entry_.programs[p].message;
    for (int i = 0; i < program.instructions_size(); ++i) {
      const pb::Instruction &instruction = program.instructions(i);
      if (instruction.has_commit() || instruction.has_loop()) {
        int64_t key =
            instruction.has_loop() ? instruction.loop().body() : commit;
        leader_[begin_[p] + i] =
            first.try_emplace(key, begin_[p] + i).first->second;
      }
    }
  }
}

void OrderVerifier::addEdges(size_t program) {
  for (const auto &[queue, instructions] : queues_[program]) {
    for (size_t i = 1; i < instructions.size(); ++i) {
      edges_.emplace_back(nodeOf(program, instructions[i - 1]),
                          nodeOf(program, instructions[i]));
    }
  }
  const pb::Program &message = *entry_.programs[program].message;
  std::optional<int> queued;   // the last
  std::map<uint32_t, int> met; // by queue, the last that the host does
  for (int i = 0; i < message.instructions_size(); ++i) {
    const pb::Instruction &instruction = message.instructions(i);
    if (isQueued(entry_.programs[program], instruction)) {
      if (queued) {
        edges_.emplace_back(nodeOf(program, *queued), nodeOf(program, i));
      }
      for (auto [queue, before] : met) {
        edges_.emplace_back(nodeOf(program, before), nodeOf(program, i));
      }
      queued = i;
    } else if (instruction.queue() >= firstCommunicator) {
      if (queued) {
        edges_.emplace_back(nodeOf(program, *queued), nodeOf(program, i));
      }
      met[instruction.queue()] = i;
    }
    for (uint32_t other : message.instructions(i).after()) {
      edges_.emplace_back(nodeOf(program, static_cast<int>(other)),
                          nodeOf(program, i));
    }
  }
}

std::string OrderVerifier::describe(Node node) const {
  auto program = std::upper_bound(begin_.begin(), begin_.end(), node);
  size_t index = program - begin_.begin() - 1;
  return describeInstruction(entry_, index, node - begin_[index]);
}

/// Of the nodes that still wait, some wait in a circle.
Status OrderVerifier::cycleError(const std::vector<uint32_t> &waiting) const {
  std::map<Node, Node> before;
  for (auto [from, to] : edges_) {
    if (waiting[from] != 0 && waiting[to] != 0) {
      before.emplace(to, from);
    }
  }
  std::map<Node, size_t> seen;
  std::vector<Node> path = {before.begin()->first};
  while (seen.emplace(path.back(), path.size() - 1).second) {
    path.push_back(before.at(path.back()));
  }
  std::ostringstream os;
  constexpr size_t most = 4;
  size_t begin = seen.at(path.back());
  for (size_t i = begin; i < std::min(path.size(), begin + most); ++i) {
    os << (i == begin ? "" : ", which waits for ") << describe(path[i]);
  }
  return makeError(ExitCode::Invalid,
                   "ranks would wait for each other: ", os.str(),
                   path.size() - begin > most ? ", and so on" : "");
}

Status OrderVerifier::findOrder() {
  std::vector<uint32_t> waiting(leader_.size()), begin(leader_.size() + 1);
  for (auto [from, to] : edges_) {
    ++waiting[to];
    ++begin[from + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Node> next(edges_.size());
  std::vector<uint32_t> filled = begin;
  for (auto [from, to] : edges_) {
    next[filled[from]++] = to;
  }
  std::vector<Node> ready;
  for (Node node = 0; node < waiting.size(); ++node) {
    if (waiting[node] == 0) {
      ready.push_back(node);
    }
  }
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (uint32_t i = begin[ready[done]]; i < begin[ready[done] + 1]; ++i) {
      if (--waiting[next[i]] == 0) {
        ready.push_back(next[i]);
      }
    }
  }
  return done == waiting.size() ? Status() : cycleError(waiting);
}

Status OrderVerifier::run() {
  for (int c = 0; c < resolved_.manifest->communicators_size(); ++c) {
    Status status = isUsed(c) ? joinMeetings(c) : Status();
    if (!status.isOk()) {
      return status;
    }
  }
  joinBarriers();
  for (size_t program = 0; program < entry_.programs.size(); ++program) {
    addEdges(program);
  }
  return findOrder();
}

Status divisi::rt::verifyOrder(const ResolvedManifest &resolved,
                               const ResolvedEntry &entry) {
  return OrderVerifier(resolved, entry).run();
}
