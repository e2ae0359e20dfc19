//===- ServeHost.cpp - The server of the processes of a host --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/ServeHost.h"
#include "divisi/Support/TemporaryFile.h"
#include "divisi/Support/Thread.h"
#include "divisi/Support/Version.h"
#include "runtime/comm/pmix/HostExchange.h"
#include "runtime/comm/pmix/PmixPlugin.h"
#include "runtime/comm/pmix/Rendezvous.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <future>
#include <memory>
#include <sys/prctl.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// In which a process of this host takes an answer, if it can.
static constexpr milliseconds moment(1000);

static Status noPmix(const std::string &why) {
  return makeError(ExitCode::Device,
                   "processes of torchrun need a server of "
                   "PMIx to find each other: ",
                   why,
                   "; install it (Debian: libpmix-dev) and build divisi again, "
                   "or start them by mpirun");
}

static Expected<std::unique_ptr<PmixServer>>
openServer(const std::string &library, const PmixJob &job) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return noPmix(dlerror());
  }
  auto *open =
      reinterpret_cast<OpenPmixPlugin *>(dlsym(handle, openPmixPluginName));
  if (!open) {
    return noPmix(dlerror());
  }
  Status status;
  std::unique_ptr<PmixServer> server(open(std::string(version()), job, status));
  if (!server) {
    return status;
  }
  return server;
}

/// A folder whose name says whose it is: in memory if the system has such
/// files, else where temporary ones are.
static Expected<TemporaryFolder> makeFolder() {
  std::string begin = "divisi-pmix-" + std::to_string(getpid()) + "-";
  auto folder = TemporaryFolder::make("/dev/shm", begin);
  return folder ? std::move(folder)
                : TemporaryFolder::make(temporaryFolder(), begin);
}

//===----------------------------------------------------------------------===//
// Who is there
//===----------------------------------------------------------------------===//

/// What the servers of all hosts say; `exchange` stays what they say more by.
static Expected<std::string>
hearHosts(const Launch &launch, const std::string &line, milliseconds timeout,
          std::shared_ptr<HostExchange> &exchange) {
  auto secret = HostSecret::find(launch.artifact);
  if (!secret) {
    return secret.status();
  }
  auto opened = HostExchange::open(launch.host, launch.hosts, timeout,
                                   std::move(*secret));
  if (!opened) {
    return opened.status();
  }
  exchange = std::move(*opened);
  return exchange->exchange(line);
}

/// The job of all hosts; `own` is what this one says of itself.
static Expected<PmixJob> meetHosts(const Launch &launch,
                                   const std::string &name, const PmixHost &own,
                                   milliseconds timeout) {
  std::shared_ptr<HostExchange> exchange;
  std::string line = makeHostLine(name, own);
  auto lines = launch.hosts == 1 ? Expected<std::string>(line)
                                 : hearHosts(launch, line, timeout, exchange);
  auto found = lines ? parseHostLines(*lines, launch.hosts, launch.size)
                     : Expected<HostLines>(lines.status());
  if (!found) {
    return found.status();
  }
  PmixJob job{found->job, std::move(found->hosts), launch.host, {}, {}};
  if (job.hosts[job.self].processes != own.processes) {
    return makeError(ExitCode::Device, "host ", job.self,
                     " has other processes than this one, which is number ",
                     job.self, ", too");
  }
  if (exchange) {
    job.exchange = [exchange](const std::string &text) {
      return exchange->exchange(text);
    };
  }
  return job;
}

/// Waits for the processes of this host, and then for the servers of all, as
/// long as none of the processes has ended: torchrun may start others then, and
/// another server for them.
static Expected<PmixJob> findJob(Rendezvous &meeting, const Launch &launch,
                                 milliseconds timeout) {
  auto numbers = meeting.hear();
  if (!numbers) {
    return numbers.status();
  }
  // Two hosts may have the same name, and be the same.
  char name[256] = "";
  (void)gethostname(name, sizeof(name) - 1);
  PmixHost own{name + ("-" + std::to_string(launch.host)), {}};
  for (const std::string &text : *numbers) {
    // What is no number is that of no process, which parseHostLines says.
    own.processes.push_back(parseNumber(text).value_or(launch.size));
  }
  std::string jobName =
      "divisi-" + std::to_string(getpid()) + "-" +
      std::to_string(steady_clock::now().time_since_epoch().count());
  auto promise = std::make_shared<std::promise<Expected<PmixJob>>>();
  auto job = promise->get_future();
  auto thread = Thread::start("hosts", [=] {
    promise->set_value(meetHosts(launch, jobName, own, timeout));
  });
  if (!thread) {
    return thread.status();
  }
  thread->detach(); // the process may end while it waits
  constexpr milliseconds nap(10);
  while (job.wait_for(milliseconds(0)) != std::future_status::ready) {
    Status status = meeting.watch(steady_clock::now() + nap);
    if (!status.isOk()) {
      return status;
    }
  }
  return job.get();
}

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

/// What leads MPI in `process` to the server: variables with a zero behind
/// each.
static Expected<std::string> describe(const PmixServer &server,
                                      uint32_t process) {
  auto variables = server.environment(process);
  if (!variables) {
    return variables.status();
  }
  std::string text;
  for (const std::string &variable : *variables) {
    text += variable + '\0';
  }
  return text;
}

/// Meets the processes of this host, serves them, and returns when all of them
/// have ended. What fails is said by the first of them.
static void serve(Rendezvous meeting, const std::string &library,
                  const Launch &launch, milliseconds timeout) {
  auto own = makeFolder();
  auto job = findJob(meeting, launch, timeout);
  Status status = job ? own.status() : job.status();
  std::unique_ptr<PmixServer> server;
  if (status.isOk()) {
    job->folder = own->path();
    auto opened = openServer(library, *job);
    status = opened.status();
    server = opened ? std::move(*opened) : nullptr;
  }
  for (uint32_t party = 0; party < launch.localSize; ++party) {
    if (!meeting.isThere(party)) {
      continue;
    }
    meeting.answer(
        party,
        encode(server
                   ? describe(*server, job->hosts[job->self].processes[party])
                   : Expected<std::string>(status)),
        steady_clock::now() + moment);
    status = Status(status.code(), "");
  }
  meeting.waitForEnd();
}

Status divisi::rt::startHostServer(const SocketAddress &address,
                                   const std::string &library,
                                   const Launch &launch, milliseconds timeout) {
  auto meeting = Rendezvous::open(
      address,
      {launch.localSize, "processes of this host", "LOCAL_RANK", timeout, {}});
  if (!meeting) {
    return meeting.status();
  }
  pid_t child = fork();
  if (child < 0) {
    return makeError(ExitCode::Device,
                     "cannot start a process: ", std::strerror(errno));
  }
  if (child > 0) {
    return {};
  }
  // torchrun ends groups of processes. What is told to all, this one included,
  // it learns from their end; a process may also end while PMIx writes to it.
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  prctl(PR_SET_NAME, "divisi-pmix");
  // Whoever reads the output of the processes does not wait for this one.
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  serve(std::move(*meeting), library, launch, timeout);
  _exit(0);
}
