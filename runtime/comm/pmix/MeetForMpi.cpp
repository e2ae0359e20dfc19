//===- MeetForMpi.cpp - What a launcher leaves out ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torchrun says which process this is, and nothing that MPI could find others
// by. So the first process of a host starts a server of PMIx beside itself, at
// which all of the host meet; the server answers each with the variables that
// lead MPI to it, and goes when all of them have gone. Servers of several hosts
// meet at the first one's.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Sha256.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "runtime/comm/pmix/ServeHost.h"

#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// What a wait for an answer adds to one for processes.
static constexpr milliseconds moment(2000);
/// Between two attempts.
static constexpr milliseconds nap(20);

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Where the processes of this host meet, and no other run's: two of torchrun
/// may be here at the same time, and one may start its processes again.
static SocketAddress meetingPlace() {
  std::string facts = std::to_string(geteuid());
  for (const char *name :
       {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "GROUP_RANK",
        "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"}) {
    facts += "\n" + variable(name);
  }
  return localAddress("divisi-" + toHex(Sha256::of(facts)));
}

/// Takes over the environment that the server has sent.
static Status takeOver(const std::string &text) {
  auto variables = parseVariables(text);
  if (!variables) {
    return variables.status();
  }
  for (const auto &[name, value] : *variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  return {};
}

/// What is the same for all processes is said by the first of them.
static Status refuse(const Launch &launch, const Status &status) {
  return launch.self == 0 ? status : Status(status.code(), "");
}

/// Meets the others of this host at its server. One that goes without an answer
/// is that of processes which torchrun has ended before it started these.
static Expected<std::string> askServer(const Launch &launch,
                                       milliseconds timeout) {
  Deadline deadline = steady_clock::now() + timeout;
  std::optional<std::string> answer;
  Channel channel;
  while (true) {
    channel = connectTo({meetingPlace()}, deadline);
    if (channel.isOpen() &&
        introduce(channel, launch.local, {}, deadline) == Introduction::Done &&
        channel.send(std::to_string(launch.self), deadline)) {
      // As long as the servers of hosts wait for each other, and a bit.
      answer = channel.receive(deadline + 3 * timeout + 2 * moment);
    }
    if (answer || steady_clock::now() > deadline) {
      break;
    }
    std::this_thread::sleep_for(nap);
  }
  if (!answer) {
    return makeError(ExitCode::Device, "of the ", launch.localSize,
                     " processes of this host LOCAL_RANK 0 did not come "
                     "within ",
                     timeout.count(), " ms, with a server of PMIx");
  }
  channel.keep(); // the server ends when all processes have
  return decode(*answer);
}

Status divisi::rt::meetForMpi(const std::string &library, const Launch &launch,
                              milliseconds timeout) {
  if (launch.launcher == "srun" && !std::getenv("PMIX_NAMESPACE")) {
    return refuse(
        launch,
        makeError(
            ExitCode::Usage, "srun has started ", launch.size,
            " processes, but does not tell MPI how they find each other (there "
            "is no PMIX_NAMESPACE); start them by srun --mpi=pmix"));
  }
  if (launch.launcher != "torchrun") {
    return {};
  }
  if (std::getenv("TORCHELASTIC_RUN_ID")) {
    prctl(PR_SET_PDEATHSIG, SIGTERM); // it cannot end them if it is killed
  }
  if (launch.local == 0) {
    Status status = startHostServer(meetingPlace(), library, launch, timeout);
    if (!status.isOk()) {
      return status;
    }
  }
  auto variables = askServer(launch, timeout);
  return variables ? takeOver(*variables) : variables.status();
}
