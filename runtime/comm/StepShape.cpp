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

Senders divisi::rt::sendersOf(const StepDesc &step) {
  std::vector<MoveParty> parties;
  for (const StepParty &party : step.parties) {
    parties.push_back({party.source ? &*party.source : nullptr,
                       party.result ? &*party.result : nullptr});
  }
  return Senders(parties);
}

Expected<std::vector<Fetch>> divisi::rt::planMove(const StepDesc &step,
                                                  size_t self) {
  std::vector<Fetch> fetches;
  Received received = sendersOf(step).received(self);
  if (!received.isWhole) {
    return makeError(ExitCode::Invalid, step.location, ": rank ",
                     step.parties[self].rank,
                     " needs elements that no rank of its group holds");
  }
  for (const SentPiece &piece : received.pieces) {
    fetches.push_back({piece.sender, BoxCopy(byteWidth(step.type), piece.box,
                                             *step.parties[piece.sender].source,
                                             *step.parties[self].result)});
  }
  return fetches;
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
    Senders senders = sendersOf(step);
    for (size_t to = 0; to < parties; ++to) {
      if (to == self) {
        continue;
      }
      if (step.reduce) {
        elements += step.parties[to].result->count();
      }
      for (const Box &piece :
           step.reduce ? std::vector<Box>() : senders.pieces(self, to)) {
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
