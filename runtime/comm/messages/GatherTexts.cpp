//===- GatherTexts.cpp - What all processes say, on all of them -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/ProcessWorld.h"

#include <numeric>

using namespace divisi;
using namespace divisi::rt;

/// Everybody holds a part of a line of bytes, of `lengths`, and gets all.
static Status gatherBytes(ProcessWorld &world, Communicator &communicator,
                          uint32_t tag, const std::string &what,
                          std::span<const int64_t> lengths, const void *own,
                          void *all) {
  StepDesc step;
  step.tag = tag;
  step.location = what;
  step.type = DType::U8;
  int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  int64_t begin = 0;
  for (uint32_t process = 0; process < world.size(); ++process) {
    step.parties.push_back({process, Box{{begin}, {begin + lengths[process]}},
                            Box::whole({total})});
    begin += lengths[process];
  }
  auto share = LoneStep::prepare(communicator, step, world.self());
  return share ? runStep(communicator, **share, own, all) : share.status();
}

/// What others say is not believed to be a length before.
static Status checkLengths(std::span<const int64_t> lengths,
                           const std::string &what) {
  constexpr int64_t most = int64_t(1) << 30;
  int64_t left = most;
  for (int64_t length : lengths) {
    if (length < 0 || length > left) {
      return makeError(ExitCode::Device, "in ", what,
                       " processes say more than ", most, " bytes");
    }
    left -= length;
  }
  return {};
}

Expected<std::vector<std::string>>
divisi::rt::gatherTexts(ProcessWorld &world, const std::string &own,
                        const std::string &what,
                        std::chrono::milliseconds timeout) {
  std::vector<uint32_t> processOf(world.size());
  std::iota(processOf.begin(), processOf.end(), 0);
  std::shared_ptr<Communicator> communicator =
      world.connect(processOf, timeout, {}, 1);
  auto ownLength = static_cast<int64_t>(own.size());
  std::vector<int64_t> lengths(world.size());
  std::vector<int64_t> widths(world.size(), sizeof(int64_t));
  Status status = gatherBytes(world, *communicator, 0, what, widths, &ownLength,
                              lengths.data());
  if (status.isOk()) {
    status = checkLengths(lengths, what);
  }
  std::string all(
      status.isOk() ? std::accumulate(lengths.begin(), lengths.end(), size_t(0))
                    : 0,
      '\0');
  if (status.isOk()) {
    status = gatherBytes(world, *communicator, 1, what, lengths, own.data(),
                         all.data());
  }
  if (!status.isOk()) {
    return status;
  }
  std::vector<std::string> texts;
  size_t begin = 0;
  for (int64_t length : lengths) {
    texts.push_back(all.substr(begin, static_cast<size_t>(length)));
    begin += static_cast<size_t>(length);
  }
  return texts;
}
