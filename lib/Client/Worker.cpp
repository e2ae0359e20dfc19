//===- Worker.cpp - The compiler in a process of its own ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host is somebody else's process: it may have threads that start processes
// of their own, wait for all children, ignore SIGCHLD, have standard files
// closed, or fork. So nothing here forks, every descriptor is close-on-exec
// from the beginning, only this child is waited for, and its death is seen at
// the channel.
//
//===----------------------------------------------------------------------===//

#include "Worker.h"

#include "divisi/C/MemoryFile.h"
#include "divisi/Support/Clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace divisi;

extern char **environ;

/// How much is kept of what the compiler prints.
static constexpr size_t kMostPrinted = 16384;
/// How much of that an error repeats.
static constexpr size_t kMostRepeated = 1000;
/// How long a process may take to end that has been told to.
static constexpr double kGrace = 2;

static Status noResource(const char *what) {
  return makeError(ExitCode::Device, "cannot start the compiler: no ", what,
                   ": ", std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    close(number_);
  }
}

bool Descriptor::moveUp() {
  if (number_ > kChannelDescriptor) {
    return true;
  }
  int higher = fcntl(number_, F_DUPFD_CLOEXEC, kChannelDescriptor + 1);
  *this = Descriptor(higher);
  return higher >= 0;
}

static Expected<Descriptor> fileOf(std::span<const std::byte> bytes) {
  Expected<int> made = makeMemoryFile(bytes);
  if (!made) {
    return made.status().in("cannot start the compiler");
  }
  Descriptor file(*made);
  return file.moveUp() ? Expected<Descriptor>(std::move(file))
                       : noResource("descriptor");
}

static Expected<Descriptor> emptyFile() {
  Descriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return file.number() < 0 || !file.moveUp()
             ? Expected<Descriptor>(noResource("/dev/null"))
             : std::move(file);
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

namespace {

/// What posix_spawn is told.
class SpawnPlan {
public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan &) = delete;
  SpawnPlan &operator=(const SpawnPlan &) = delete;

  /// Signals as they are by default. In a group of its own: Ctrl-C on the
  /// host's terminal is for the host to hear, which then cancels or does not.
  int setSignals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(&attributes, &none);
    error = error ? error : posix_spawnattr_setsigdefault(&attributes, &all);
    error = error ? error : posix_spawnattr_setpgroup(&attributes, 0);
    return error ? error
                 : posix_spawnattr_setflags(&attributes,
                                            POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETPGROUP);
  }

  /// Those descriptors are all that it has.
  int setFiles(int input, int errors, int channel) {
    int error = posix_spawn_file_actions_adddup2(&actions, input, 0);
    for (int number : {1, 2}) {
      error = error
                  ? error
                  : posix_spawn_file_actions_adddup2(&actions, errors, number);
    }
    error = error ? error
                  : posix_spawn_file_actions_adddup2(&actions, channel,
                                                     kChannelDescriptor);
    return error ? error
                 : posix_spawn_file_actions_addclosefrom_np(
                       &actions, kChannelDescriptor + 1);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

} // namespace

Expected<pid_t> Worker::spawn(const WorkerStart &start, int channel, int errors,
                              int input) {
  std::string name = "divisi", verb = "serve";
  std::vector<char *> arguments = {name.data(), verb.data()};
  std::vector<std::string> copies = start.arguments;
  for (std::string &argument : copies) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  SpawnPlan plan;
  pid_t process = -1;
  int error = plan.setSignals();
  error = error ? error : plan.setFiles(input, errors, channel);
  error = error ? error
                : posix_spawn(&process, start.program.c_str(), &plan.actions,
                              &plan.attributes, arguments.data(), environ);
  if (error == 0) {
    return process;
  }
  if (error == E2BIG) {
    return makeError(ExitCode::Usage,
                     "the arguments are too long: ", std::strerror(error));
  }
  bool isShort =
      error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
  return makeError(isShort ? ExitCode::Device : ExitCode::File,
                   "cannot start '", start.program,
                   "', which compiles: ", std::strerror(error),
                   isShort ? ""
                           : "; install it beside the library, or name it "
                             "in the options (compiler)");
}

Status Worker::start(const WorkerStart &start) {
  program_ = start.program;
  Expected<Descriptor> input =
      start.input.data() ? fileOf(start.input) : emptyFile();
  if (!input) {
    return input.status();
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return noResource("pair of sockets");
  }
  channel_ = Descriptor(pair[0]);
  Descriptor theirs(pair[1]);
  if (pipe2(pair, O_CLOEXEC) != 0) {
    return noResource("pipe");
  }
  errors_ = Descriptor(pair[0]);
  Descriptor printed(pair[1]);
  fcntl(errors_.number(), F_SETFL, O_NONBLOCK);
  if (!theirs.moveUp() || !printed.moveUp()) {
    return noResource("descriptor");
  }
  Expected<pid_t> process =
      spawn(start, theirs.number(), printed.number(), input->number());
  if (!process) {
    return process.status();
  }
  std::lock_guard lock(mutex_);
  process_ = *process;
  owner_ = getpid();
  return Status();
}

//===----------------------------------------------------------------------===//
// Talking
//===----------------------------------------------------------------------===//

Status Worker::request(uint64_t number,
                       std::initializer_list<std::string_view> texts) {
  size_t size = 64;
  for (std::string_view text : texts) {
    size += text.size() + 16;
  }
  if (size > kMostRequestBytes) {
    return makeError(ExitCode::Usage, "the arguments of the call have ", size,
                     " bytes, expected at most ", kMostRequestBytes);
  }
  std::array<std::string_view, 3> more{};
  std::ranges::copy(texts, more.begin());
  Status sent = sendFrame(channel_.number(),
                          {std::to_string(number), more[0], more[1], more[2]},
                          /*atOnce=*/true);
  return sent.isOk() ? sent : ended();
}

/// Keeps the last of what has come.
void Worker::drainErrors() {
  char text[4096];
  while (true) {
    ssize_t got = read(errors_.number(), text, sizeof(text));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got == 0) {
      errors_ = Descriptor(); // Poll would find it again and again.
    }
    if (got <= 0) {
      return;
    }
    printed_.append(text, size_t(got));
    if (printed_.size() > kMostPrinted) {
      printed_.erase(0, printed_.size() - kMostPrinted);
    }
  }
}

Expected<Frame> Worker::receive(double seconds) {
  double end = steadySeconds() + seconds;
  while (true) {
    Expected<Inbox::News> news = inbox_.receive(channel_.number());
    if (!news) {
      this->end();
      return news.status();
    }
    if (*news == Inbox::News::Frame) {
      return std::move(inbox_.frame());
    }
    if (*news == Inbox::News::End) {
      return ended();
    }
    double left = end - steadySeconds();
    if (seconds >= 0 && left <= 0) {
      this->end();
      return makeError(ExitCode::Internal, "'", program_,
                       "' says nothing; it is no divisi-compiler");
    }
    std::array<pollfd, 2> files{
        {{channel_.number(), POLLIN, 0}, {errors_.number(), POLLIN, 0}}};
    poll(files.data(), files.size(), seconds >= 0 ? int(left * 1000) + 1 : -1);
    if (files[1].revents != 0) {
      drainErrors();
    }
  }
}

//===----------------------------------------------------------------------===//
// Ending
//===----------------------------------------------------------------------===//

/// Whether the number is still that of our child: where the host ignores
/// SIGCHLD, nobody has to wait for children, and numbers are used again.
bool Worker::isChild() {
  siginfo_t about{};
  return !isOver_ && process_ > 0 && owner_ == getpid() &&
         waitid(P_PID, id_t(process_), &about, WEXITED | WNOHANG | WNOWAIT) ==
             0;
}

void Worker::kill() {
  if (isChild()) {
    ::kill(process_, SIGKILL);
  }
}

/// Whether the process has ended, `seconds` from now at the latest; negative:
/// for as long as it takes.
bool Worker::waitFor(double seconds) {
  double end = steadySeconds() + seconds;
  timespec pause{0, 200'000};
  while (!isOver_) {
    int outcome = 0;
    pid_t found = waitpid(process_, &outcome, seconds < 0 ? 0 : WNOHANG);
    if (found == process_) {
      outcome_ = outcome;
      isOver_ = true;
    } else if (found < 0 && errno != EINTR) {
      isOver_ = true; // The host has waited for it, or need not.
    } else if (found == 0) {
      if (steadySeconds() >= end) {
        return false;
      }
      nanosleep(&pause, nullptr);
      pause.tv_nsec = std::min(2 * pause.tv_nsec, 20'000'000L);
    }
  }
  return true;
}

void Worker::end() {
  std::lock_guard lock(mutex_);
  if (isOver_ || process_ <= 0 || owner_ != getpid()) {
    return; // Who was forked has only a copy of it.
  }
  shutdown(channel_.number(), SHUT_RDWR);
  if (!waitFor(kGrace)) {
    kill();
    waitFor(-1);
  }
}

Worker::~Worker() { end(); }

void Worker::cancel(uint64_t number, bool isSecond) {
  std::lock_guard lock(mutex_);
  if (isOver_ || owner_ != getpid()) {
    return;
  }
  if (isSecond ||
      !sendFrame(channel_.number(), {std::to_string(number), "cancel"},
                 /*atOnce=*/true)
           .isOk()) {
    kill();
  }
}

/// The last lines before the stack that a crash prints.
std::string Worker::lastWords() const {
  std::string_view text = printed_;
  text = text.substr(0, text.find("divisi: a crash is a bug"));
  while (!text.empty() && std::isspace((unsigned char)text.back())) {
    text.remove_suffix(1);
  }
  if (text.size() > kMostRepeated) {
    text.remove_prefix(text.size() - kMostRepeated);
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  constexpr std::string_view prefix = "divisi: error: ";
  if (text.starts_with(prefix)) {
    text.remove_prefix(prefix.size());
  }
  return std::string(text);
}

/// Why the channel was closed.
Status Worker::ended() {
  std::lock_guard lock(mutex_);
  if (!waitFor(kGrace)) {
    kill();
    waitFor(-1);
  }
  if (errors_.number() >= 0) {
    drainErrors();
  }
  std::string words = lastWords();
  std::string said = words.empty() ? "" : ": " + words;
  if (outcome_ >= 0 && WIFSIGNALED(outcome_)) {
    int signal = WTERMSIG(outcome_);
    // What nobody else sends, the system does where memory has run out.
    bool isMemory = signal == SIGKILL;
    return makeError(
        isMemory ? ExitCode::Device : ExitCode::Internal,
        "the compiler's process was ended by signal ", signal, " (",
        strsignal(signal), ")",
        isMemory ? ", as the system does where memory runs out" : "", said);
  }
  if (outcome_ >= 0 && WIFEXITED(outcome_)) {
    int code = WEXITSTATUS(outcome_);
    if (code == kCancelledExit) {
      return Status(ExitCode(code), "cancelled");
    }
    if (code == int(ExitCode::Device) && !words.empty()) {
      return Status(ExitCode::Device, words);
    }
    return makeError(ExitCode::Internal,
                     "the compiler's process has ended with code ", code, said);
  }
  return makeError(ExitCode::Internal,
                   "the compiler's process has ended, and the program has not "
                   "let the library know how",
                   said);
}
