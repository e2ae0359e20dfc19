//===- LaunchTest.cpp - Tests of who has started a process ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/ProcessWorld.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "GROUP_RANK",
                                        "GROUP_WORLD_SIZE",
                                        "TORCHELASTIC_RUN_ID"};

/// What findLaunch says of these variables and no others.
static Expected<std::optional<Launch>>
findIn(const std::map<std::string, std::string> &environment) {
  for (const char *variable : variables) {
    unsetenv(variable);
  }
  for (const auto &[name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  Expected<std::optional<Launch>> found = findLaunch();
  for (const char *variable : variables) {
    unsetenv(variable);
  }
  return found;
}

TEST(LaunchTest, theFirstLauncherThatSaysBothNumbers) {
  std::map<std::string, std::string> environment;
  EXPECT_FALSE(*findIn(environment));
  environment = {{"LOCAL_RANK", "1"},
                 {"LOCAL_WORLD_SIZE", "4"},
                 {"GROUP_RANK", "1"},
                 {"GROUP_WORLD_SIZE", "2"}};
  const char *names[] = {"torchrun", "mpiexec", "srun", "mpirun"};
  for (int i = 3; i >= 0; --i) {
    environment[variables[2 * i]] = std::to_string(i);
    environment[variables[2 * i + 1]] = std::to_string(i + 5);
    auto found = findIn(environment);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->launcher, names[3 - i]);
    EXPECT_EQ((*found)->self, unsigned(i));
    EXPECT_EQ((*found)->size, unsigned(i + 5));
  }
  // Which is often started by one of the others, one per host.
  environment["TORCHELASTIC_RUN_ID"] = "none";
  auto torchrun = findIn(environment);
  ASSERT_TRUE(torchrun && *torchrun);
  EXPECT_EQ((*torchrun)->launcher, "torchrun");
  EXPECT_EQ((*torchrun)->local, 1u);
  EXPECT_EQ((*torchrun)->localSize, 4u);
  EXPECT_EQ((*torchrun)->host, 1u);
  EXPECT_EQ((*torchrun)->hosts, 2u);
  // As in a script of sbatch, which has started one process only.
  EXPECT_FALSE(*findIn({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(LaunchTest, whatIsNoNumberIsRefused) {
  for (const auto &[rank, size] : std::map<std::string, std::string>{
           {"x", "2"}, {"1", "2x"}, {"2", "2"}, {"-1", "2"}, {"", "2"}}) {
    auto found = findIn({{"RANK", rank}, {"WORLD_SIZE", size}});
    ASSERT_FALSE(found) << rank << " " << size;
    EXPECT_EQ(found.status().code(), ExitCode::Usage);
    EXPECT_THAT(found.status().message(),
                HasSubstr("RANK=" + rank + " WORLD_SIZE=" + size +
                          ": expected a number below another one, as torchrun "
                          "says which process this is"));
  }
}

TEST(LaunchTest, torchrunSaysWhoIsOnTheHost) {
  auto found = findIn({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.status().message(),
              HasSubstr("RANK=1 WORLD_SIZE=2 say that torchrun has started "
                        "this process, but it would have set LOCAL_RANK and "
                        "LOCAL_WORLD_SIZE, too; set these, or unset RANK and "
                        "WORLD_SIZE if it has not"));
  found = findIn({{"RANK", "1"},
                  {"WORLD_SIZE", "2"},
                  {"LOCAL_RANK", "0"},
                  {"LOCAL_WORLD_SIZE", "1"}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.status().message(),
              HasSubstr("set GROUP_RANK and GROUP_WORLD_SIZE, too"));
  found = findIn({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->size, 1u);
}

TEST(LaunchTest, ranksAreDividedInBlocks) {
  EXPECT_THAT(ranksOf(0, 2, 4), ElementsAre(0, 1));
  EXPECT_THAT(ranksOf(1, 2, 4), ElementsAre(2, 3));
  EXPECT_THAT(processesOf(3, 5), ElementsAre(0, 1, 1, 2, 2));
  for (uint32_t ranks = 1; ranks < 20; ++ranks) {
    for (uint32_t size = 1; size <= ranks; ++size) {
      std::vector<uint32_t> all;
      for (uint32_t self = 0; self < size; ++self) {
        for (uint32_t rank : ranksOf(self, size, ranks)) {
          EXPECT_EQ(processesOf(size, ranks)[rank], self);
          all.push_back(rank);
        }
      }
      ASSERT_EQ(all.size(), ranks);
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    }
  }
}

TEST(LaunchTest, aLibraryThatIsMissingIsNamed) {
  auto world = openMpiWorld("/nowhere/libdivisi_mpi.so", {"mpirun", 0, 2});
  ASSERT_FALSE(world);
  EXPECT_EQ(world.status().code(), ExitCode::Device);
  EXPECT_THAT(
      world.status().message(),
      HasSubstr("several processes need MPI: /nowhere/libdivisi_mpi.so"));
  EXPECT_THAT(world.status().message(), HasSubstr("install it (Debian: "
                                                  "libopenmpi-dev"));
}
