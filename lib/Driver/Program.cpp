//===- Program.cpp - What holds for all programs --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library does not decide how a program ends. What only it can do is here:
// what to say when memory or threads have run out where nobody could return an
// error, and when nobody takes what is printed.
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"
#include "divisi/Support/Status.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <fcntl.h>
#include <new>
#include <sys/resource.h>
#include <typeinfo>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

//===----------------------------------------------------------------------===//
// Standard files
//===----------------------------------------------------------------------===//

/// Whoever has closed one of the three must not find its number given to a file
/// of ours, which would then be written to. What is closed cannot be read or
/// written; messages are lost.
static void openStandardFiles() {
  constexpr int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int file = 0; file < 3; ++file) {
    if (fcntl(file, F_GETFD) < 0) {
      (void)open("/dev/null", modes[file]); // the lowest number that is free
    }
  }
}

/// What is printed may not have got out. Nobody can be told what got lost on
/// stderr, and the outcome stands without. The exit code.
static int closeStreams(int code) {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  if (error && code == int(ExitCode::Ok)) {
    code = int(ExitCode::File);
    errs() << "divisi: error: cannot write to stdout: " << error.message()
           << "\n";
  }
  errs().clear_error();
  return code;
}

//===----------------------------------------------------------------------===//
// Memory and threads
//===----------------------------------------------------------------------===//

/// Says so without any memory, and ends the process.
template <size_t N, typename... Parts>
[[noreturn]] static void giveUp(const char (&format)[N], Parts... parts) {
  char text[512];
  int size = std::snprintf(text, sizeof(text), format, parts...);
  (void)!write(STDERR_FILENO, text, std::min<size_t>(size, sizeof(text) - 1));
  _exit(int(ExitCode::Device));
}

/// The pages that this process has in its address space; 0 where the system
/// does not say.
static long pagesOfProcess() {
  char text[64] = "";
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    (void)!read(file, text, sizeof(text) - 1);
    close(file);
  }
  return std::strtol(text, nullptr, 10);
}

[[noreturn]] static void giveUpForMemory() {
  constexpr double mebi = 1 << 20;
  double held = double(pagesOfProcess()) * double(sysconf(_SC_PAGESIZE)) / mebi;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    giveUp("divisi: error: no memory: of the %.0f MiB that this process may "
           "have (ulimit -v) it has %.0f, and needs more\n",
           double(limit.rlim_cur) / mebi, held);
  }
  giveUp(
      "divisi: error: no memory: this process has %.0f MiB, and needs more\n",
      held);
}

static void onNoMemory() { giveUpForMemory(); }

#ifndef __SANITIZE_ADDRESS__
/// What these two give stands in for the C library's: oneDNN does not look
/// whether it has got anything, or goes on with loops that need less memory and
/// round differently.
static void *allocate(size_t alignment, size_t size) {
  void *memory = std::aligned_alloc(alignment, size);
  if (!memory && size > 0) {
    giveUpForMemory();
  }
  return memory;
}

extern "C" {
[[gnu::visibility("default"), gnu::used]] void *malloc(size_t size) noexcept {
  return allocate(alignof(std::max_align_t), size);
}

[[gnu::visibility("default"), gnu::used]] int
posix_memalign(void **to, size_t alignment, size_t size) noexcept {
  bool isPower = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!isPower || alignment % sizeof(void *) != 0) {
    return EINVAL;
  }
  *to = allocate(alignment, size);
  return 0;
}
}
#endif

/// Whether main() has returned, or it has been said why it does not; otherwise
/// a library has ended the process.
static std::atomic<bool> isEndKnown = false;

/// LLVM's allocations.
static void onBadAllocation(void *, const char *, bool) { giveUpForMemory(); }

/// LLVM cannot start a thread. Of what else it dies, it says by itself.
static void onFatalError(void *, const char *reason, bool) {
  if (StringRef(reason).contains("pthread")) {
    giveUp("divisi: error: cannot start a thread: %.300s\n", reason);
  }
  isEndKnown = true;
  errs() << "LLVM ERROR: " << reason << "\n";
}

/// An exception that nobody can catch: libraries throw them where there is no
/// memory or thread, and where a container would be larger than anything.
static void onTerminate() {
  const std::type_info *type = abi::__cxa_current_exception_type();
  StringRef name = type ? type->name() : "";
  if (name == "St9bad_alloc" || name == "St12length_error") {
    giveUpForMemory();
  }
  if (name == "St12system_error") {
    giveUp("divisi: error: cannot start a thread: %s; allow more threads "
           "(ulimit -u) or memory (ulimit -v)\n",
           std::strerror(EAGAIN));
  }
  std::abort();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Libraries end the process with 1, after a word, where they get no thread
/// (OpenMP's) or no memory: in several threads at once, of which only the first
/// may decide.
static void onExit(int code, void *) {
  static std::atomic_flag isDecided;
  if (isEndKnown) {
    closeStreams(code);
    return;
  }
  on_exit(onExit, nullptr); // for the next thread
  if (isDecided.test_and_set()) {
    while (true) {
      pause();
    }
  }
  if (code == 1) {
    code = int(ExitCode::Device);
    errs() << "divisi: error: a library has ended this process, by the reason "
              "that it gives\n";
  }
  _exit(closeStreams(code));
}

/// Libraries allocate before main() begins.
static void handleShortage() {
  std::set_new_handler(onNoMemory);
  std::set_terminate(onTerminate);
}
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*const handleShortageFirst)() = handleShortage;

int divisi::runProgram(Tool *tool, int argc, char **argv) {
  openStandardFiles();
  install_bad_alloc_error_handler(onBadAllocation);
  install_fatal_error_handler(onFatalError);
  // Streams that are made before are closed after.
  outs();
  errs();
  on_exit(onExit, nullptr);
  int code = closeStreams(tool(argc, argv));
  isEndKnown = true;
  return code;
}
