//===- MeetForMpi.cpp - What a launcher leaves out ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torchrun says which process this is, and nothing that MPI could find others
// by. So the first process of a host starts a server of PMIx beside itself, in
// which all of the host meet; the server answers each with the variables that
// lead MPI to it, and goes when all of them have gone.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Sha256.h"
#include "divisi/Support/Version.h"
#include "divisi/runtime/ProcessWorld.h"
#include "runtime/comm/pmix/PmixPlugin.h"
#include "runtime/comm/pmix/Rendezvous.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/prctl.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// What a wait for an answer adds to one for processes.
static constexpr milliseconds moment(2000);

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

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

/// A code and a message, or 0 and what has to be in the environment: parts with
/// a zero behind each.
static std::string answerOf(const Status &status,
                            const std::vector<std::string> &parts) {
  std::string text = std::to_string(static_cast<int>(status.code()));
  text += '\0';
  for (const std::string &part : parts) {
    text += part;
    text += '\0';
  }
  return text;
}

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

namespace {

/// A folder that goes with it, and all that is there then.
class OwnFolder {
public:
  /// In memory if the system has such files, else where temporary ones are.
  OwnFolder() {
    std::string temporary = variable("TMPDIR");
    for (const std::string &parent :
         {std::string("/dev/shm"), temporary.empty() ? "/tmp" : temporary}) {
      path_ = parent + "/divisi-pmix-XXXXXX";
      made_ = mkdtemp(path_.data()) != nullptr;
      if (made_) {
        return;
      }
    }
  }
  ~OwnFolder() {
    std::error_code ignored;
    if (made_) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  Status status() const {
    return made_ ? Status()
                 : makeError(ExitCode::File, "cannot make the folder '", path_,
                             "': ", std::strerror(errno));
  }
  const std::string &path() const { return path_; }

private:
  std::string path_;
  bool made_ = false;
};

} // namespace

/// What each process of this host has said: its number among all.
static Expected<std::vector<uint32_t>> hearNumbers(Rendezvous &meeting,
                                                   milliseconds timeout) {
  auto texts = meeting.hear(timeout);
  if (!texts) {
    return texts.status();
  }
  std::vector<uint32_t> numbers;
  for (const std::string &text : *texts) {
    uint32_t &number = numbers.emplace_back();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return numbers;
}

/// Meets the processes of this host, serves them, and returns when all of them
/// have ended. What fails is said by the first of them.
static void serve(Rendezvous meeting, const std::string &library,
                  uint32_t count, milliseconds timeout) {
  PmixJob job;
  OwnFolder own;
  auto numbers = hearNumbers(meeting, timeout);
  Status status = numbers ? own.status() : numbers.status();
  std::unique_ptr<PmixServer> server;
  if (status.isOk()) {
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    job.folder = own.path();
    job.name = "divisi-" + std::to_string(getpid()) + "-" +
               std::to_string(steady_clock::now().time_since_epoch().count());
    job.hosts.push_back({host, *numbers});
    auto opened = openServer(library, job);
    status = opened.status();
    server = opened ? std::move(*opened) : nullptr;
  }
  for (uint32_t party = 0; party < count; ++party) {
    std::vector<std::string> parts = {party == 0 ? status.message() : ""};
    if (server) {
      auto environment = server->environment((*numbers)[party]);
      parts = environment ? *environment
                          : std::vector{environment.status().message()};
      status = environment.status();
    }
    meeting.answer(party, answerOf(status, parts));
  }
  meeting.waitForEnd();
}

/// Starts the server: a process that outlives this one as long as others of the
/// host need it, and that signals to all of them do not end.
static Status startServer(const std::string &library, uint32_t count,
                          milliseconds timeout) {
  auto meeting = Rendezvous::open(meetingPlace(), count,
                                  {"processes of this host", "LOCAL_RANK"});
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
  // it learns from their end.
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_IGN);
  }
  prctl(PR_SET_NAME, "divisi-pmix");
  // Whoever reads the output of the processes does not wait for this one.
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  serve(std::move(*meeting), library, count, timeout);
  _exit(0);
}

//===----------------------------------------------------------------------===//
// A process
//===----------------------------------------------------------------------===//

/// Takes over the environment that the server has sent.
static Status takeOver(const std::string &answer) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end;
       (end = answer.find('\0', begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(answer.substr(begin, end - begin));
  }
  int code = std::atoi(parts.front().c_str());
  if (code != 0) {
    return Status(static_cast<ExitCode>(code), parts.back());
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t sign = parts[i].find('=');
    setenv(parts[i].substr(0, sign).c_str(), parts[i].c_str() + sign + 1, 1);
  }
  return {};
}

/// What is the same for all processes is said by the first of them.
static Status refuse(const Launch &launch, const Status &status) {
  return launch.self == 0 ? status : Status(status.code(), "");
}

/// Meets the others of this host at its server.
static Expected<std::string> askServer(const Launch &launch,
                                       milliseconds timeout) {
  Deadline deadline = steady_clock::now() + timeout;
  Channel channel = connectTo(meetingPlace(), deadline);
  if (!channel.isOpen()) {
    return makeError(ExitCode::Device, "of the ", launch.localSize,
                     " processes of this host LOCAL_RANK 0 did not come "
                     "within ",
                     timeout.count(), " ms");
  }
  std::optional<std::string> answer;
  if (channel.send(std::to_string(launch.local), deadline) &&
      channel.send(std::to_string(launch.self), deadline)) {
    answer = channel.receive(deadline + timeout + moment);
  }
  if (!answer) {
    return makeError(
        ExitCode::Device, "the server of PMIx does not answer LOCAL_RANK ",
        launch.local, ": it has ended, or another process has the same number");
  }
  channel.keep(); // the server ends when all processes have
  return *answer;
}

Status divisi::rt::meetForMpi(const std::string &library, const Launch &launch,
                              milliseconds timeout) {
  if (launch.launcher == "srun" && !std::getenv("PMIX_NAMESPACE")) {
    return refuse(launch,
                  makeError(ExitCode::Usage, "srun has started ", launch.size,
                            " processes, and gives MPI nothing by which they "
                            "find each other (there is no PMIX_NAMESPACE); "
                            "start them by srun --mpi=pmix"));
  }
  if (launch.launcher != "torchrun") {
    return {};
  }
  if (launch.localSize != launch.size) {
    return refuse(launch,
                  makeError(ExitCode::Unsupported, "torchrun has started ",
                            launch.size, " processes, and ", launch.localSize,
                            " of them on this host; start those of several "
                            "hosts by mpirun or srun --mpi=pmix"));
  }
  if (std::getenv("TORCHELASTIC_RUN_ID")) {
    prctl(PR_SET_PDEATHSIG, SIGTERM); // it cannot end them if it is killed
  }
  if (launch.local == 0) {
    Status status = startServer(library, launch.localSize, timeout);
    if (!status.isOk()) {
      return status;
    }
  }
  auto answer = askServer(launch, timeout);
  return answer ? takeOver(*answer) : answer.status();
}
