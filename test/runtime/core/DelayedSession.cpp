//===- DelayedSession.cpp - Artifacts on a slow network -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/DelayedSession.h"

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"

#include <algorithm>
#include <random>

using namespace divisi;
using namespace divisi::rt;

static Status checkMemory(const Session &session) {
  Expected<std::vector<RankMemory>> predicted = session.predictedMemory();
  if (!predicted) {
    return predicted.status();
  }
  std::vector<RankMemory> held = session.memory();
  for (size_t rank = 0; rank < held.size(); ++rank) {
    if (held[rank].total() != (*predicted)[rank].total()) {
      return makeError(ExitCode::Invalid, "rank ", rank, " holds ",
                       held[rank].total(), " bytes, expected ",
                       (*predicted)[rank].total());
    }
  }
  return {};
}

Expected<DelayedSession>
DelayedSession::open(const std::string &path,
                     std::vector<const Backend *> backends) {
  DelayedSession made;
  SessionOptions options;
  options.backends = std::move(backends);
  options.communicator = [&](const CommunicatorRequest &request)
      -> Expected<std::shared_ptr<Communicator>> {
    made.network = std::make_shared<DelayedCommunicator>(
        makeInprocCommunicator(request.timeout, request.spin));
    return std::shared_ptr<Communicator>(made.network);
  };
  Expected<std::unique_ptr<Session>> session = Session::open(path, options);
  Status status = session ? checkMemory(**session) : session.status();
  if (!status.isOk()) {
    return status;
  }
  made.session = std::move(*session);
  return made;
}

Expected<std::vector<HostTensor>> divisi::rt::drawInputs(const EntryInfo &entry,
                                                         uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> inputs;
  for (const ValueInfo &input : entry.inputs) {
    Expected<HostTensor> drawn = HostTensor::allocate(DType::F32, input.dims);
    if (!drawn) {
      return drawn.status();
    }
    for (float &value : drawn->as<float>()) {
      value = isFloatType(input.type)
                  ? std::uniform_real_distribution<float>(-1, 1)(random)
                  : static_cast<float>(random() % 2);
    }
    Expected<HostTensor> tensor = drawn->castTo(input.type);
    if (!tensor) {
      return tensor.status();
    }
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

Status divisi::rt::compareBits(const std::string &what,
                               std::span<const HostTensor> got,
                               std::span<const HostTensor> want) {
  for (size_t i = 0; i < std::max(got.size(), want.size()); ++i) {
    if (i >= got.size() || i >= want.size() ||
        !std::ranges::equal(got[i].bytes(), want[i].bytes())) {
      return makeError(ExitCode::Invalid, what, ": tensor ", i, " differs");
    }
  }
  return {};
}

Status divisi::rt::compareState(const Session &got, const Session &want) {
  for (const GlobalInfo &global : want.globals()) {
    if (!global.isUpdated) {
      continue;
    }
    const std::string &name = global.value.name;
    Expected<HostTensor> own = got.readGlobal(name);
    Expected<HostTensor> other = want.readGlobal(name);
    if (!own || !other) {
      return own ? other.status() : own.status();
    }
    Status status =
        compareBits("global '" + name + "'", {&*own, 1}, {&*other, 1});
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}
