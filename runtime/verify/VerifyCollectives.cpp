//===- VerifyCollectives.cpp - Checks of what ranks do together -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyProgram.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

Status CheckedCollectives::check(const GridInfo &grid, CollectiveKind kind,
                                 const std::vector<uint32_t> &axes,
                                 const Placement &source,
                                 const Placement &result) {
  auto [it, isNew] = collectives_.insert({kind, axes, &source, &result});
  if (!isNew) {
    return {};
  }
  // Whatever is wrong ends the verification, so that only success is kept.
  return checkCollective(grid, kind, axes, source, result);
}

Status CheckedCollectives::check(const Placement &from, const Placement &to) {
  bool isNew = transfers_.insert({&from, &to}).second;
  return isNew ? checkTransfer(from, to) : Status();
}

Status ProgramVerifier::share(uint32_t tag, SharedStep step) {
  if (!tags_.insert(tag).second) {
    return invalid("tag ", tag, " occurs twice in the program");
  }
  step.ranks.insert(program_.message->ranks().begin(),
                    program_.message->ranks().end());
  auto [it, isNew] = checks_.steps.emplace(tag, step);
  if (isNew) {
    return {};
  }
  SharedStep &other = it->second;
  if (other.kind != step.kind || other.queue != step.queue ||
      other.axes != step.axes || other.format != step.format ||
      !(*other.source == *step.source) ||
      !(*other.result == *step.result)) {
    return invalid("under tag ", tag, " another rank does something else (",
                   other.where, ")");
  }
  other.ranks.insert(step.ranks.begin(), step.ranks.end());
  return {};
}

Status
ProgramVerifier::verifyCommunicator(uint32_t queue, uint32_t grid,
                                    std::span<const uint32_t> axes,
                                    std::optional<uint32_t> target) const {
  bool isRight = queue >= firstCommunicator;
  if (isRight) {
    const pb::Communicator &communicator = resolved_.manifest->communicators(
        static_cast<int>(queue - firstCommunicator));
    isRight = communicator.grid() == grid &&
              std::equal(axes.begin(), axes.end(), communicator.axes().begin(),
                         communicator.axes().end()) &&
              communicator.has_target() == target.has_value() &&
              communicator.target() == target.value_or(0);
  }
  return isRight ? Status()
                 : invalid("it is on queue '",
                           nameOfQueue(*resolved_.manifest, queue),
                           "', expected that of a communicator of its ranks");
}

Status ProgramVerifier::verifyCollective(const pb::Collective &collective,
                                         uint32_t queue,
                                         const std::string &where) {
  std::optional<CollectiveKind> kind = parseCollectiveKind(collective.kind());
  if (!kind) {
    return invalid("unknown collective '", collective.kind(), "'");
  }
  uint32_t from = collective.source(), to = collective.result();
  Status status = read(from);
  if (status.isOk()) {
    status = checkResult(to);
  }
  if (!status.isOk()) {
    return status;
  }
  const Placement &source = placement(from), &result = placement(to);
  std::vector<uint32_t> axes(collective.axes().begin(),
                             collective.axes().end());
  status = collectives_.check(resolved_.grids[source.grid], *kind, axes, source,
                              result);
  if (!status.isOk()) {
    return status.in(collective.kind());
  }
  bool mayShare = *kind == CollectiveKind::AllReduce &&
                  haveSamePlace(from, to) && source.boxes == result.boxes;
  if (overlap(from, to) && !mayShare) {
    return invalid("the result of ", collective.kind(), " overlaps its source");
  }
  write(to);
  if (isLocal(*kind)) {
    return {};
  }
  status = verifyCommunicator(queue, source.grid, axes, {});
  return status.isOk() ? share(collective.tag(), {where,
                                                  collective.kind(),
                                                  queue,
                                                  axes,
                                                  program_.root(from).format(),
                                                  &source,
                                                  &result,
                                                  {}})
                       : status;
}

Status ProgramVerifier::verifyTransferSide(bool isPresent, uint32_t buffer,
                                           const Placement &expected,
                                           const char *side) {
  const GridInfo &grid = resolved_.grids[expected.grid];
  for (uint32_t rank : program_.message->ranks()) {
    if (grid.positionOf(rank).has_value() != isPresent) {
      return invalid("rank ", rank, isPresent ? " has a " : " has no ", side,
                     isPresent ? " but is not in its grid"
                               : " but is in its grid");
    }
  }
  if (isPresent &&
      (buffer >= program_.buffers.size() || !(placement(buffer) == expected))) {
    return invalid("the ", side, " buffer ", buffer,
                   " does not have the layout of the transfer");
  }
  return {};
}

Status ProgramVerifier::verifyTransfer(const pb::Transfer &transfer, int index,
                                       uint32_t queue,
                                       const std::string &where) {
  auto [from, to] = program_.transfers.at(index);
  Status status = collectives_.check(*from, *to);
  if (status.isOk()) {
    status = verifyCommunicator(queue, from->grid, {}, to->grid);
  }
  if (status.isOk()) {
    status = verifyTransferSide(transfer.has_source(), transfer.source(), *from,
                                "source");
  }
  if (status.isOk()) {
    status = verifyTransferSide(transfer.has_result(), transfer.result(), *to,
                                "result");
  }
  if (status.isOk() && transfer.has_source()) {
    status = read(transfer.source());
  }
  if (status.isOk() && transfer.has_result()) {
    status = checkResult(transfer.result());
  }
  if (!status.isOk()) {
    return status;
  }
  if (transfer.has_source() && transfer.has_result() &&
      overlap(transfer.source(), transfer.result())) {
    return invalid("the result of the transfer overlaps its source");
  }
  if (transfer.has_result()) {
    write(transfer.result());
  }
  return share(transfer.tag(), {where, "transfer", queue, {}, {}, from, to, {}});
}
