//===- SessionQueries.cpp - What a session tells of itself ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/SessionImpl.h"
#include "runtime/core/Trace.h"

#include <numeric>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

uint32_t Session::numRanks() const {
  return impl_->resolved->manifest->num_ranks();
}

std::span<const uint32_t> Session::localRanks() const {
  return impl_->localRanks;
}

std::span<const EntryInfo> Session::entries() const { return impl_->entries; }

const EntryInfo *Session::findEntry(std::string_view name) const {
  for (const EntryInfo &entry : impl_->entries) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::vector<std::vector<std::optional<Box>>>
Session::outputBoxes(const EntryInfo &entry) const {
  std::vector<uint32_t> ranks(numRanks());
  std::iota(ranks.begin(), ranks.end(), 0);
  size_t index = &entry - impl_->entries.data();
  std::vector<std::vector<std::optional<Box>>> boxes;
  for (const Placement *output : impl_->resolved->entries[index].outputs) {
    boxes.push_back(impl_->boxesOf(*output, ranks));
  }
  return boxes;
}

const NativeCodeUse &Session::nativeCode() const {
  return impl_->artifact.nativeCode;
}

std::span<const GlobalInfo> Session::globals() const {
  return impl_->artifact.globals;
}

std::vector<KernelCalls> Session::kernelCalls() const {
  std::vector<KernelCalls> all;
  for (size_t e = 0; e < impl_->programs.size(); ++e) {
    for (uint32_t rank : impl_->localRanks) {
      const auto &program = impl_->programs[e][rank];
      if (!program) {
        continue;
      }
      for (const auto &[key, calls] : program->kernelCounts()) {
        all.push_back(
            {impl_->entries[e].name, rank, key.first, key.second, calls});
      }
    }
  }
  return all;
}

std::vector<RankMemory> Session::memory() const {
  std::vector<RankMemory> ranks(impl_->resolved->manifest->num_ranks());
  for (uint32_t rank : impl_->localRanks) {
    std::set<uint32_t> globals;
    SharedMemory shared;
    shared.packing = planSpaces(*impl_->resolved, rank).stagingBytes();
    for (const RankSpace &space : impl_->spaces[rank]) {
      bool isHost = &space == impl_->spaces[rank].data();
      (isHost ? ranks[rank].arena : ranks[rank].device) +=
          (space.arena ? space.arena->size() : 0) + space.padding;
      auto sizeOf = [](const std::unique_ptr<DeviceMemory> &memory) {
        return memory ? memory->size() : 0;
      };
      shared.workspaces.push_back(sizeOf(space.workspace));
      shared.messages.push_back(sizeOf(space.messages));
      for (const auto &[global, copy] : space.globals) {
        ranks[rank].device += copy->size();
      }
    }
    for (const auto &ofEntry : impl_->programs) {
      if (ofEntry[rank]) {
        const ProgramMemory &program = ofEntry[rank]->memory();
        addMemory(ranks[rank], program);
        shared.packed.insert(program.packed.begin(), program.packed.end());
        shared.packing = std::max(shared.packing, program.packing);
        globals.insert(program.globals.begin(), program.globals.end());
      }
    }
    addShared(ranks[rank], shared);
    countWeights(*impl_->resolved, rank, globals, ranks[rank]);
  }
  return ranks;
}

int64_t Session::sharedBytes() const {
  int64_t shared = 0;
  std::set<const void *> boxes;
  PackedConstants seen;
  for (uint32_t rank : impl_->localRanks) {
    std::set<uint32_t> globals;
    PackedConstants packed;
    for (const auto &ofEntry : impl_->programs) {
      if (ofEntry[rank]) {
        const ProgramMemory &program = ofEntry[rank]->memory();
        packed.insert(program.packed.begin(), program.packed.end());
        globals.insert(program.globals.begin(), program.globals.end());
      }
    }
    for (const auto &[key, bytes] : packed) {
      shared += seen.emplace(key, bytes).second ? 0 : bytes;
    }
    for (uint32_t global : globals) {
      const Placement &placement = *impl_->resolved->globals[global];
      auto position = impl_->resolved->grids[placement.grid].positionOf(rank);
      const void *data = impl_->globals.data(global, rank);
      if (position && data && !boxes.insert(data).second) {
        shared += placement.bytes(*position);
      }
    }
  }
  return shared;
}

template <typename Query>
auto Session::Impl::askRanks(const EntryInfo *entry, Query query) const {
  std::vector<std::decay_t<std::invoke_result_t<Query, RankProgram &>>> ranks(
      resolved->manifest->num_ranks());
  for (uint32_t rank = 0; entry && rank < ranks.size(); ++rank) {
    if (const auto &program = programs[entry - entries.data()][rank]) {
      ranks[rank] = query(*program);
    }
  }
  return ranks;
}

bool Session::isStuck() const { return impl_->isStuck(); }

std::vector<StateBytes> Session::stateBytes(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.stateBytes();
  });
}

std::vector<SpaceCopies> Session::spaceCopies(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.spaceCopies();
  });
}

std::vector<std::string> Session::graphUses(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.graphUse();
  });
}

static std::string describeFallbacks(const RankProgram &program) {
  std::ostringstream os;
  for (const auto &[part, calls] : program.fallbacks()) {
    os << (os.tellp() == 0 ? "" : "; ") << "generated code does " << calls
       << ' ' << part.first << ", for which " << part.second
       << " has no engine";
  }
  return os.str();
}

std::vector<std::string> Session::fallbacks(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), describeFallbacks);
}

std::vector<std::string> Session::connections() const {
  std::vector<std::string> sentences(impl_->spaces.size());
  for (uint32_t rank : impl_->localRanks) {
    sentences[rank] = impl_->communicator->describe(rank);
  }
  return sentences;
}

std::vector<CollectiveUses> Session::collectives(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.collectives();
  });
}

std::vector<int64_t> Session::waitingTimes(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.waitingTime();
  });
}

std::vector<OutputBytes> Session::outputBytes(std::string_view entry) const {
  return impl_->askRanks(findEntry(entry), [](const RankProgram &program) {
    return program.outputBytes();
  });
}

int64_t Session::verifiedBytes() const {
  return impl_->artifact.file.verifiedBytes();
}

Expected<std::vector<RankMemory>> Session::predictedMemory() const {
  auto ranks =
      predictMemory(*impl_->resolved->manifest, impl_->options.backends,
                    impl_->options.threadsPerDevice);
  if (ranks && !impl_->communicator->sendsMessages()) {
    for (RankMemory &rank : *ranks) {
      rank.messages = 0;
    }
  }
  return ranks;
}

Expected<HostTensor> Session::readGlobal(std::string_view name) const {
  if (Status status = impl_->checkState(); !status.isOk()) {
    return status;
  }
  const ResolvedManifest &resolved = *impl_->resolved;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    if (resolved.manifest->globals(static_cast<int>(i)).name() != name) {
      continue;
    }
    const Placement &placement = *resolved.globals[i];
    const GridInfo &grid = resolved.grids[placement.grid];
    Expected<HostTensor> tensor =
        HostTensor::zeros(placement.type, placement.dims, std::string(name));
    if (!tensor) {
      return tensor;
    }
    std::vector<size_t> order;
    for (uint32_t rank : impl_->localRanks) {
      if (auto position = grid.positionOf(rank)) {
        order.push_back(*position);
      }
    }
    std::vector<Fetch> fetches;
    if (!planFetches(byteWidth(placement.type), Box::whole(placement.dims),
                     placement.boxes, order, fetches)) {
      return makeError(ExitCode::Usage, "global '", name,
                       "' lies partly on ranks of other sessions");
    }
    for (const Fetch &fetch : fetches) {
      uint32_t owner = grid.devices[fetch.owner];
      if (resolved.isUpdated[i]) {
        auto bytes = impl_->readState(i, owner);
        if (!bytes) {
          return bytes.status();
        }
        fetch.copy.run(bytes->data(), tensor->data());
        continue;
      }
      if (Status status = impl_->globals.acquire(i, owner); !status.isOk()) {
        return status;
      }
      fetch.copy.run(impl_->globals.data(i, owner), tensor->data());
      impl_->globals.release(i, owner);
    }
    return tensor;
  }
  return makeError(ExitCode::Usage, "the artifact has no global '", name, "'");
}

Status Session::writeTrace(const std::string &path) const {
  if (!impl_->options.trace) {
    return makeError(ExitCode::Usage,
                     "the session was opened without recording a trace");
  }
  if (Status status = impl_->checkAlive(); !status.isOk()) {
    return status;
  }
  std::vector<TraceRank> ranks;
  for (uint32_t rank : impl_->localRanks) {
    const auto &program = impl_->programs[impl_->lastEntry][rank];
    if (program) {
      ranks.push_back({rank, program.get()});
    }
  }
  const ResolvedManifest &resolved = *impl_->resolved;
  return writeChromeTrace(path, *resolved.manifest,
                          resolved.entries[impl_->lastEntry], ranks);
}

Status Session::writeLastSteps(const std::string &path) const {
  std::vector<StepsOfRank> ranks;
  for (const auto &[rank, steps] : impl_->lastSteps) {
    const auto &program = impl_->programs[impl_->lastEntry][rank];
    uint64_t progress = program ? program->progress() : 0;
    ranks.push_back(
        {rank,
         RankProgram::isWorking(progress) ? program->locationOf(progress) : "",
         &steps});
  }
  return rt::writeLastSteps(path, *impl_->resolved, ranks);
}
