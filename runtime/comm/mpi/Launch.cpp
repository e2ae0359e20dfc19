//===- Launch.cpp - Who has started this process --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/ProcessWorld.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

using namespace divisi;
using namespace divisi::rt;

namespace {

struct Launcher {
  const char *name, *rankVariable, *sizeVariable;
};

} // namespace

static constexpr std::array<Launcher, 4> launchers = {
    {{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
     // Not SLURM_NTASKS, which a script of sbatch sees, too.
     {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
     {"mpiexec", "PMI_RANK", "PMI_SIZE"},
     {"torchrun", "RANK", "WORLD_SIZE"}}};

static std::optional<uint32_t> parseNumber(std::string_view text) {
  uint32_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber ? std::optional(value) : std::nullopt;
}

Expected<std::optional<Launch>> divisi::rt::findLaunch() {
  for (const Launcher &launcher : launchers) {
    const char *rank = std::getenv(launcher.rankVariable);
    const char *size = std::getenv(launcher.sizeVariable);
    if (!rank || !size) {
      continue;
    }
    std::optional<uint32_t> self = parseNumber(rank), all = parseNumber(size);
    if (!self || !all || *self >= *all) {
      return makeError(ExitCode::Usage, launcher.rankVariable, "=", rank, " ",
                       launcher.sizeVariable, "=", size,
                       ": expected a number below another one, as ",
                       launcher.name,
                       " says which process this is; unset them if it has not "
                       "started this one");
    }
    return std::optional(Launch{launcher.name, *self, *all});
  }
  return std::optional<Launch>();
}

static uint32_t blockBegin(uint32_t process, uint32_t size, uint32_t numRanks) {
  return static_cast<uint32_t>(uint64_t(numRanks) * process / size);
}

std::vector<uint32_t> divisi::rt::ranksOf(uint32_t self, uint32_t size,
                                          uint32_t numRanks) {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = blockBegin(self, size, numRanks);
       rank < blockBegin(self + 1, size, numRanks); ++rank) {
    ranks.push_back(rank);
  }
  return ranks;
}

std::vector<uint32_t> divisi::rt::processesOf(uint32_t size,
                                              uint32_t numRanks) {
  std::vector<uint32_t> processes;
  for (uint32_t process = 0; process < size; ++process) {
    processes.insert(processes.end(), ranksOf(process, size, numRanks).size(),
                     process);
  }
  return processes;
}
