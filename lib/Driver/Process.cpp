//===- Process.cpp - What the system knows of this process ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include "divisi/Support/Clock.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <ctime>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

static std::string readSmallFile(const char *path) {
  auto buffer = MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// When the process started, in seconds since the machine did. Field 22 of the
/// line, counted from 1; field 2 is the program's name in parentheses, which
/// may hold spaces and parentheses itself.
static std::optional<double> startSinceBoot() {
  std::string line = readSmallFile("/proc/self/stat");
  SmallVector<StringRef> fields;
  StringRef(line).rsplit(')').second.trim().split(fields, ' ');
  uint64_t ticks = 0;
  if (fields.size() < 20 || fields[19].getAsInteger(10, ticks)) {
    return std::nullopt;
  }
  return double(ticks) / double(sysconf(_SC_CLK_TCK));
}

double divisi::processStart() {
  double now = steadySeconds();
  timespec boot{};
  std::optional<double> start = startSinceBoot();
  if (!start || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
    return now;
  }
  return now - (double(boot.tv_sec) + 1e-9 * double(boot.tv_nsec) - *start);
}

int64_t divisi::peakMemory() {
  // Not getrusage first: its peak survives exec, so that a small program
  // inherits that of the large one which started it.
  std::string status = readSmallFile("/proc/self/status");
  StringRef rest = StringRef(status).split("VmHWM:").second;
  int64_t kibibytes = 0;
  if (!rest.ltrim().consumeInteger(10, kibibytes)) {
    return kibibytes * 1024;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * 1024 : 0;
}
