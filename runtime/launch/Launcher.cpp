//===- Launcher.cpp - Starting a command in several processes -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/launch/Launcher.h"
#include "divisi/Support/ThisModule.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "runtime/launch/Hosts.h"
#include "runtime/launch/ThisProcess.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

MachineShape divisi::rt::machineShapeOf(const artifact::Manifest &manifest) {
  return {manifest.num_ranks(), manifest.machine().ranks(),
          manifest.machine().links()};
}

/// In the child: becomes mpirun, which ends with its parent and prints to
/// `output`. `errors` learns why it has not.
[[noreturn]] static void becomeLauncher(const std::vector<std::string> &command,
                                        pid_t parent, int output, int errors) {
  std::vector<char *> argv;
  for (const std::string &argument : command) {
    argv.push_back(const_cast<char *>(argument.c_str()));
  }
  argv.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (dup2(output, STDOUT_FILENO) >= 0 && getppid() == parent) {
    execvp(argv.front(), argv.data());
  }
  int error = errno;
  (void)!write(errors, &error, sizeof(error));
  _exit(1);
}

/// How the processes on the `hosts` of a file have ended, as mpirun says.
static Status endOf(int state, const std::string &hosts) {
  int signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  if (code > 128 && code - 128 < NSIG) {
    signal = code - 128;
  }
  if (code == 255 && !hosts.empty()) {
    return makeError(ExitCode::Device,
                     "mpirun could not start the processes on the hosts of '",
                     hosts,
                     "', by the reason that it gives; each has to be reachable "
                     "by ssh without a password, and have divisi at the same "
                     "place");
  }
  bool isOurs =
      code != int(ExitCode::Internal) && code <= int(ExitCode::Version);
  if (signal == 0 && !isOurs) {
    return makeError(ExitCode::Device,
                     "mpirun or a process has failed (exit "
                     "code ",
                     code, "), by the reason that it gives");
  }
  if (signal == 0) {
    return Status(ExitCode(code), ""); // a process has said why
  }
  return makeError(ExitCode::Device, "a process was ended by signal ", signal,
                   " (", strsignal(signal), "), and all others with it");
}

// What a handler of signals can reach.
static volatile sig_atomic_t started = 0, interruption = 0;

extern "C" {
static void passOn(int signal) {
  interruption = signal;
  kill(started, signal);
}
}

/// How many processes `parent` has started that have not ended.
static size_t countLive(pid_t parent) {
  std::string folder = "/proc/" + std::to_string(parent) + "/task/" +
                       std::to_string(parent) + "/children";
  std::ifstream children(folder);
  size_t live = 0;
  for (std::string child; children >> child;) {
    std::ifstream file("/proc/" + child + "/stat");
    std::string stat;
    // The state stands behind the name, which is in parentheses.
    live +=
        std::getline(file, stat) &&
        !std::string_view(stat).substr(stat.rfind(')') + 1).starts_with(" Z");
  }
  return live;
}

namespace {

/// Says when a launcher is not waited for any more. Its processes meet before
/// they end: where one has ended, the others follow, unless they are stopped;
/// and mpirun itself may not end when all have.
class LastWatch {
public:
  LastWatch(pid_t launcher, std::chrono::milliseconds timeout)
      : launcher_(launcher), timeout_(timeout) {}

  bool isOver() {
    constexpr std::chrono::seconds moment(5);
    size_t live = countLive(launcher_);
    auto now = std::chrono::steady_clock::now();
    if (live >= most_) {
      most_ = live;
      firstEnd_ = lastEnd_ = now;
    } else if (live > 0) {
      lastEnd_ = now;
    }
    return now > firstEnd_ + timeout_ + moment ||
           (live == 0 && most_ > 0 && now > lastEnd_ + moment);
  }

private:
  pid_t launcher_;
  std::chrono::milliseconds timeout_;
  size_t most_ = 0;
  std::chrono::steady_clock::time_point firstEnd_, lastEnd_;
};

} // namespace

/// Ends what does not end by itself: mpirun ends its processes, if it can.
static void endLauncher(pid_t child, int &state) {
  kill(child, SIGTERM);
  for (int i = 0; i < 50; ++i) {
    if (waitpid(child, &state, WNOHANG) != 0) {
      return; // its number may be another's now
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGKILL);
  waitpid(child, &state, 0);
}

namespace {

/// What the processes print, as mpirun has it, on its way to this process's
/// stdout: mpirun does not mind when that takes no more.
class Output {
public:
  /// Reads from `pipe`, which it closes.
  explicit Output(int pipe) : pipe_(pipe) {}
  ~Output() { close(pipe_); }

  /// Waits for a moment for something to print, and prints it; whether there
  /// was something.
  bool pass(std::chrono::milliseconds moment);
  /// What is left when nobody prints any more.
  void passAll() {
    while (pass(std::chrono::milliseconds(0))) {
    }
  }
  /// Whether all has been printed.
  Status status() const {
    return error_ == 0
               ? Status()
               : makeError(ExitCode::File,
                           "cannot write to stdout: ", std::strerror(error_));
  }

private:
  int pipe_;
  int error_ = 0;
};

} // namespace

bool Output::pass(std::chrono::milliseconds moment) {
  pollfd entry{pipe_, POLLIN, 0};
  if (poll(&entry, 1, int(moment.count())) <= 0) {
    return false;
  }
  char buffer[65536];
  ssize_t count = read(pipe_, buffer, sizeof(buffer));
  for (ssize_t done = 0; done < count && error_ == 0;) {
    ssize_t written = write(STDOUT_FILENO, buffer + done, size_t(count - done));
    if (written >= 0) {
      done += written;
    } else if (errno != EINTR) {
      error_ = errno; // what follows is read for the processes to go on
    }
  }
  if (count == 0) { // all who could print have ended
    std::this_thread::sleep_for(moment);
  }
  return count > 0;
}

/// Signals that would end this process end the processes, by mpirun, and then
/// this one.
static Status waitFor(pid_t child, const LaunchOptions &options,
                      Output &output) {
  started = child;
  struct sigaction action{};
  action.sa_handler = passOn;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  int state = 0;
  LastWatch watch(child, options.timeout);
  Status status;
  // An end is noticed sooner than no end.
  constexpr std::chrono::milliseconds moment(20), watchInterval(200);
  auto nextWatch = std::chrono::steady_clock::now() + watchInterval;
  while (waitpid(child, &state, WNOHANG) == 0) {
    output.pass(moment);
    if (std::chrono::steady_clock::now() < nextWatch) {
      continue;
    }
    nextWatch = std::chrono::steady_clock::now() + watchInterval;
    if (watch.isOver()) {
      endLauncher(child, state);
      status = Status(ExitCode::Device,
                      "processes or mpirun did not end after others had");
      break;
    }
  }
  output.passAll();
  if (interruption != 0) {
    std::signal(interruption, SIG_DFL);
    std::raise(interruption);
  }
  if (status.isOk()) {
    status = endOf(state, options.hosts);
  }
  return status.isOk() ? output.status() : status;
}

/// mpirun and its options.
static Expected<std::vector<std::string>>
launcherOf(const LaunchOptions &options) {
  std::vector<std::string> command = {
      "mpirun",    "--quiet", "-n", std::to_string(options.processes),
      "--bind-to", "none"};
  if (options.hosts.empty()) {
    command.push_back("--oversubscribe");
    return command;
  }
  auto places = layOnHosts(options.hosts, options.processes, options.shape);
  if (!places) {
    return places.status();
  }
  command.insert(command.end(), {"--hostfile", options.hosts, "--host", *places,
                                 "--map-by", "slot"});
  return command;
}

Status divisi::rt::launchProcesses(const LaunchOptions &options,
                                   const std::vector<std::string> &arguments) {
  auto command = launcherOf(options);
  if (!command) {
    return command.status();
  }
  if (geteuid() == 0) { // who runs as root here means it
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  command->push_back(thisProgram());
  command->insert(command->end(), arguments.begin(), arguments.end());
  int errors[2], output[2];
  if (pipe2(errors, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    return Status(ExitCode::File,
                  std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    becomeLauncher(*command, parent, output[1], errors[1]);
  }
  close(errors[1]);
  close(output[1]);
  Output printed(output[0]);
  int error = child < 0 ? errno : 0;
  bool hasFailed = child < 0 || read(errors[0], &error, sizeof(error)) > 0;
  close(errors[0]);
  if (hasFailed) {
    bool isFull = error == EAGAIN || error == ENOMEM;
    return makeError(
        isFull ? ExitCode::Device : ExitCode::File,
        "cannot start 'mpirun', which --launch needs: ", std::strerror(error),
        isFull ? "; allow more processes (ulimit -u) or memory "
                 "(ulimit -v)"
               : "; install it (Debian: openmpi-bin)");
  }
  return waitFor(child, options, printed);
}
