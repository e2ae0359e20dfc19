//===- StepShape.cpp - What a step asks of its parties --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/StepShape.h"

#include <algorithm>
#include <sstream>

using namespace divisi;
using namespace divisi::rt;

/// The boxes that parties hold; who holds none has one without elements.
static std::vector<Box> sourceBoxes(const StepDesc &step) {
  std::vector<Box> boxes;
  size_t rank = 0;
  for (const StepParty &party : step.parties) {
    if (party.source) {
      rank = party.source->rank();
    }
  }
  // Rank 0 has no empty box: one of rank 1 stands in, which planFetches never
  // looks at because such parties are not in the order.
  for (const StepParty &party : step.parties) {
    boxes.push_back(party.source ? *party.source : Box::whole(Dims(rank, 0)));
  }
  return boxes;
}

Expected<std::vector<Fetch>> divisi::rt::planMove(const StepDesc &step,
                                                  size_t self) {
  std::vector<Fetch> fetches;
  if (!step.parties[self].result) {
    return fetches;
  }
  std::vector<size_t> order;
  if (step.parties[self].source) {
    order.push_back(self);
  }
  for (size_t i = 0; i < step.parties.size(); ++i) {
    if (i != self && step.parties[i].source) {
      order.push_back(i);
    }
  }
  if (!planFetches(byteWidth(step.type), *step.parties[self].result,
                   sourceBoxes(step), order, fetches)) {
    return makeError(ExitCode::Invalid, step.location, ": rank ",
                     step.parties[self].rank,
                     " needs elements that no rank of its group holds");
  }
  return fetches;
}

static bool overlap(const Box &a, const Box &b) {
  for (size_t d = 0; d < a.rank(); ++d) {
    if (std::max(a.begin[d], b.begin[d]) >= std::min(a.end[d], b.end[d])) {
      return false;
    }
  }
  return true;
}

/// Takes what lies in `cut` out of `pieces`.
static void cutOut(std::vector<Box> &pieces, const Box &cut) {
  if (std::none_of(pieces.begin(), pieces.end(),
                   [&](const Box &piece) { return overlap(piece, cut); })) {
    return;
  }
  std::vector<Box> rest;
  for (const Box &piece : pieces) {
    subtract(piece, cut, rest);
  }
  std::swap(pieces, rest);
}

std::vector<Box> divisi::rt::piecesOf(const StepDesc &step, size_t from,
                                      size_t to) {
  const std::optional<Box> &source = step.parties[from].source;
  const std::optional<Box> &result = step.parties[to].result;
  if (!source || !result || source->empty() || result->empty() ||
      !overlap(*source, *result)) {
    return {};
  }
  std::vector<Box> pieces = {intersect(*source, *result)};
  if (from == to) {
    return pieces;
  }
  // Who has it itself comes first, then the others in their order.
  if (step.parties[to].source) {
    cutOut(pieces, *step.parties[to].source);
  }
  for (size_t i = 0; i < from && !pieces.empty(); ++i) {
    if (i != to && step.parties[i].source) {
      cutOut(pieces, *step.parties[i].source);
    }
  }
  return pieces;
}

bool divisi::rt::isAllReduce(const StepDesc &step) {
  for (const StepParty &party : step.parties) {
    if (party.result != step.parties.front().source) {
      return false;
    }
  }
  return true;
}

Status divisi::rt::checkReduce(const StepDesc &step, size_t self) {
  const StepParty &first = step.parties.front();
  for (const StepParty &party : step.parties) {
    if (!party.source || party.source != first.source) {
      return makeError(ExitCode::Invalid, step.location,
                       ": the ranks of a group hold different boxes of the "
                       "value that they combine");
    }
  }
  const StepParty &party = step.parties[self];
  if (!party.result || !contains(*party.source, *party.result)) {
    return makeError(ExitCode::Invalid, step.location, ": rank ", party.rank,
                     " wants elements outside of what its group holds");
  }
  if (!findCombine(step.type, *step.reduce)) {
    return makeError(ExitCode::Unsupported, step.location, ": no ",
                     stringify(*step.reduce), " of ", stringify(step.type));
  }
  return {};
}

bool divisi::rt::takesAnything(const StepDesc &step) {
  return std::any_of(
      step.parties.begin(), step.parties.end(),
      [](const StepParty &party) { return party.result.has_value(); });
}

int64_t divisi::rt::chunkBegin(int64_t count, size_t parties, size_t chunk) {
  constexpr int64_t line = 64;
  int64_t lines = (count + line - 1) / line;
  return std::min(count, lines * static_cast<int64_t>(chunk) /
                             static_cast<int64_t>(parties) * line);
}

int64_t divisi::rt::bytesGiven(const StepDesc &step, size_t self) {
  size_t parties = step.parties.size();
  int64_t elements = 0;
  if (step.reduce && isAllReduce(step)) {
    int64_t count = step.parties[self].source->count();
    int64_t own =
        chunkBegin(count, parties, self + 1) - chunkBegin(count, parties, self);
    elements = count - own + own * static_cast<int64_t>(parties - 1);
  } else {
    for (size_t to = 0; to < parties; ++to) {
      if (to == self) {
        continue;
      }
      if (step.reduce) {
        elements += step.parties[to].result->count();
      }
      for (const Box &piece :
           step.reduce ? std::vector<Box>() : piecesOf(step, self, to)) {
        elements += piece.count();
      }
    }
  }
  return elements * byteWidth(step.type);
}

Status divisi::rt::timeoutError(const StepDesc &step, size_t self,
                                const std::vector<uint32_t> &missing,
                                std::chrono::milliseconds timeout) {
  std::ostringstream ranks;
  const char *separator = "";
  for (uint32_t rank : missing) {
    ranks << separator << rank;
    separator = ", ";
  }
  return makeError(ExitCode::Device, "rank ", step.parties[self].rank,
                   " waited ", timeout.count(), " ms in ", step.location,
                   " (tag ", step.tag, ") for rank ", ranks.str(),
                   ", which did not come; raise the timeout if it is busy");
}

Status divisi::rt::otherStepError(const StepDesc &step) {
  return makeError(ExitCode::Invalid, step.location, " (tag ", step.tag,
                   "): another session has another step there; do all have "
                   "the same artifact?");
}
