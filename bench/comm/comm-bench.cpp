//===- comm-bench.cpp - Collectives, beside those of MPI ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   comm-bench N                     N ranks as threads of this process
//   mpirun -n N comm-bench LIBRARY   one a process, and MPI's own collectives
//
// Prints a line of JSON for each collective and size: the median time of a step
// in nanoseconds, of the rank for which it is longest, by turns with MPI's own.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/ProcessWorld.h"
#include "divisi/runtime/comm/Spin.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/measure/Measure.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mpi.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

using Case = CollectiveCase;

/// Nanoseconds of each repetition.
using Times = std::vector<int64_t>;

static constexpr std::chrono::seconds timeout(60);

static std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (std::string_view kind : collectiveKinds) {
    for (int64_t bytes :
         {int64_t(0), int64_t(8) << 10, int64_t(128) << 10, int64_t(1) << 20,
          int64_t(8) << 20, int64_t(64) << 20}) {
      cases.push_back({kind, bytes});
    }
  }
  return cases;
}

static Status callMpi(const Case &c, int n, const float *from, float *to) {
  int count = static_cast<int>(c.count(n)), part = count / n;
  int code = MPI_SUCCESS;
  if (c.kind == "all_reduce") {
    code = MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (c.kind == "all_gather") {
    code = MPI_Allgather(from, part, MPI_FLOAT, to, part, MPI_FLOAT,
                         MPI_COMM_WORLD);
  } else if (c.kind == "reduce_scatter") {
    code = MPI_Reduce_scatter_block(from, to, part, MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD);
  } else {
    int block = part / n;
    code = MPI_Alltoall(from, block, MPI_FLOAT, to, block, MPI_FLOAT,
                        MPI_COMM_WORLD);
  }
  return code == MPI_SUCCESS ? Status()
                             : Status(ExitCode::Device, "MPI failed");
}

static int64_t timeOf(const std::function<Status()> &run) {
  auto begin = std::chrono::steady_clock::now();
  if (Status status = run(); !status.isOk()) {
    std::cerr << status.message() << "\n";
    std::_Exit(static_cast<int>(status.code()));
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

/// One rank's part in all cases; `meet` brings the ranks together before each
/// step, and `tell` is given the times of ours and, if there are any, of MPI's.
static void
runRank(Communicator &communicator, uint32_t rank, int64_t n, bool hasMpi,
        const std::function<void(const Case &, Times, Times)> &tell) {
  uint32_t tag = 0;
  StepDesc barrier;
  barrier.location = "the barrier";
  barrier.entry = 1;
  for (int64_t i = 0; i < n; ++i) {
    barrier.parties.push_back({static_cast<uint32_t>(i), {}, {}});
  }
  auto gate = std::move(*LoneStep::prepare(communicator, barrier, rank));
  for (const Case &c : allCases()) {
    StepDesc step = c.describe(n);
    step.tag = tag++;
    auto share = std::move(*LoneStep::prepare(communicator, step, rank));
    auto size = static_cast<size_t>(c.count(n));
    std::vector<float> from(size, 1.f), to(size);
    int repetitions = c.bytes > (int64_t(4) << 20)    ? 15
                      : c.bytes > (int64_t(64) << 10) ? 100
                                                      : 1000;
    auto behindGate = [&](const std::function<Status()> &run) {
      (void)timeOf(
          [&] { return runStep(communicator, *gate, nullptr, nullptr); });
      return timeOf(run);
    };
    auto runOurs = [&] {
      return behindGate([&] {
        return runStep(communicator, *share, from.data(), to.data());
      });
    };
    Times ours, mpis;
    for (int i = -repetitions / 5; i < repetitions; ++i) {
      // Who is first finds caches full of what the other has left, by turns.
      bool isFirst = i % 2 == 0;
      int64_t time = isFirst ? runOurs() : 0, mpi = 0;
      if (hasMpi) {
        mpi = behindGate([&] {
          return callMpi(c, static_cast<int>(n), from.data(), to.data());
        });
      }
      time = isFirst ? time : runOurs();
      if (i >= 0) {
        ours.push_back(time);
        mpis.push_back(mpi);
      }
    }
    tell(c, std::move(ours), std::move(mpis));
  }
}

static int64_t median(Times times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return times[times.size() / 2];
}

static void print(const char *what, const Case &c, int64_t n, int64_t ours,
                  int64_t mpis) {
  std::cout << "{\"communicator\": \"" << what << "\", \"ranks\": " << n
            << ", \"collective\": \"" << c.kind
            << "\", \"bytes\": " << 4 * c.count(n) << ", \"ns\": " << ours
            << ", \"mpi_ns\": " << (mpis == 0 ? "null" : std::to_string(mpis))
            << "}" << std::endl;
}

static int runThreads(int64_t n) {
  bool hasCores = n <= std::thread::hardware_concurrency();
  auto communicator = makeInprocCommunicator(
      timeout, hasCores ? spinLimit : std::chrono::microseconds(0));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      runRank(*communicator, static_cast<uint32_t>(rank), n, false,
              [&](const Case &c, Times ours, const Times &) {
                if (rank == 0) {
                  print("inproc", c, n, median(std::move(ours)), 0);
                }
              });
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return 0;
}

static int runProcesses(const std::string &library, const Launch &launch) {
  auto world = openMpiWorld(library, launch);
  if (!world) {
    std::cerr << world.status().message() << "\n";
    return static_cast<int>(world.status().code());
  }
  uint32_t n = launch.size;
  auto communicator =
      (*world)->connect(processesOf(n, n), timeout, spinLimit, 1);
  uint32_t self = (*world)->self();
  runRank(
      *communicator, self, n, true, [&](const Case &c, Times ours, Times mpis) {
        int64_t own[] = {median(std::move(ours)), median(std::move(mpis))};
        int64_t longest[2];
        MPI_Allreduce(own, longest, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        if (self == 0) {
          print("mpi", c, n, longest[0], longest[1]);
        }
      });
  return static_cast<int>((*world)->finish(timeout).code());
}

int main(int argc, char **argv) {
  auto launch = findLaunch();
  if (argc == 2 && launch && *launch) {
    return runProcesses(argv[1], **launch);
  }
  int64_t n = argc == 2 ? std::atoll(argv[1]) : 0;
  if (n < 1) {
    std::cerr << "usage: comm-bench N | mpirun -n N comm-bench LIBRARY\n";
    return static_cast<int>(ExitCode::Usage);
  }
  return runThreads(n);
}
