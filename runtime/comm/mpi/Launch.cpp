//===- Launch.cpp - Who has started this process --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/ProcessWorld.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// The names of two variables.
struct Numbers {
  const char *rank, *size;

  bool areThere() const { return std::getenv(rank) && std::getenv(size); }
};

struct Launcher {
  const char *name;
  Numbers all;
  /// On this host, and of hosts; without them MPI knows.
  Numbers local, hosts;
  const char *mark; ///< There whenever it is the innermost launcher.
};

} // namespace

static constexpr std::array<Launcher, 5> launchers = {
    {{"torchrun",
      {"RANK", "WORLD_SIZE"},
      {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
      {"GROUP_RANK", "GROUP_WORLD_SIZE"},
      "TORCHELASTIC_RUN_ID"},
     {"mpirun", {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {}, {}, {}},
     // Not SLURM_NTASKS, which a script of sbatch sees, too.
     {"srun", {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, {}, {}, {}},
     {"mpiexec", {"PMI_RANK", "PMI_SIZE"}, {}, {}, {}},
     {"torchrun",
      {"RANK", "WORLD_SIZE"},
      {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
      {"GROUP_RANK", "GROUP_WORLD_SIZE"},
      {}}}};

static std::optional<uint32_t> parseNumber(std::string_view text) {
  uint32_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber ? std::optional(value) : std::nullopt;
}

static Status read(const Launcher &launcher, const Numbers &names,
                   uint32_t &self, uint32_t &size) {
  const char *rank = std::getenv(names.rank), *all = std::getenv(names.size);
  std::optional<uint32_t> first = parseNumber(rank ? rank : "");
  std::optional<uint32_t> second = parseNumber(all ? all : "");
  if (!rank && !all) {
    return makeError(
        ExitCode::Usage, launcher.all.rank, "=", std::getenv(launcher.all.rank),
        " ", launcher.all.size, "=", std::getenv(launcher.all.size),
        " say that ", launcher.name,
        " has started this process, but it would have set ", names.rank,
        " and ", names.size, ", too; set these, or unset ", launcher.all.rank,
        " and ", launcher.all.size, " if it has not");
  }
  if (!first || !second || *first >= *second) {
    return makeError(ExitCode::Usage, names.rank, "=", rank ? rank : "", " ",
                     names.size, "=", all ? all : "",
                     ": expected a number below another one, as ",
                     launcher.name,
                     " says which process this is; unset them if it has not "
                     "started this one");
  }
  self = *first;
  size = *second;
  return {};
}

Expected<std::optional<Launch>> divisi::rt::findLaunch(bool mayBeNobody) {
  for (const Launcher &launcher : launchers) {
    if (!launcher.all.areThere() ||
        (launcher.mark && !std::getenv(launcher.mark))) {
      continue;
    }
    if (mayBeNobody && launcher.local.rank && !launcher.local.areThere()) {
      continue;
    }
    Launch launch;
    launch.launcher = launcher.name;
    Status status = read(launcher, launcher.all, launch.self, launch.size);
    // Alone, it is so on its host, too.
    if (status.isOk() && launcher.local.rank && launch.size > 1) {
      status = read(launcher, launcher.local, launch.local, launch.localSize);
    }
    if (status.isOk() && launch.localSize < launch.size &&
        launcher.hosts.rank) {
      status = read(launcher, launcher.hosts, launch.host, launch.hosts);
    }
    return status.isOk() ? Expected(std::optional(launch)) : status;
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
