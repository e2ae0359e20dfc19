//===- HostFacts.cpp - What this machine has ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/measure/HostFacts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

namespace fs = std::filesystem;

/// The number that a file begins with; 0 for anything else.
static double numberIn(const fs::path &file) {
  double number = 0;
  return std::ifstream(file) >> number ? number : 0;
}

static bool hasWord(const fs::path &file, const std::string &wanted) {
  std::ifstream text(file);
  for (std::string word; text >> word;) {
    if (word == wanted) {
      return true;
    }
  }
  return false;
}

int64_t divisi::rt::hostMemoryBytes(const std::string &root) {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  double limit = numberIn(root + "/sys/fs/cgroup/memory.max"); // or "max"
  return limit > 0 && limit < double(bytes) ? int64_t(limit) : bytes;
}

/// What lies in a folder, by name; nothing if it is not there.
static std::vector<fs::path> listed(const fs::path &folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

std::vector<NetworkPort> divisi::rt::networkPorts(const std::string &root) {
  constexpr double perGigabit = 1e9 / 8, perMegabit = 1e6 / 8;
  std::vector<NetworkPort> ports;
  for (const fs::path &adapter : listed(root + "/sys/class/infiniband")) {
    for (const fs::path &port : listed(adapter / "ports")) {
      double rate = numberIn(port / "rate"); // "400 Gb/sec (4X NDR)"
      if (rate > 0 && hasWord(port / "state", "ACTIVE")) {
        ports.push_back(
            {adapter.filename().string() + "/" + port.filename().string(),
             rate * perGigabit});
      }
    }
  }
  if (!ports.empty()) {
    return ports;
  }
  for (const fs::path &device : listed(root + "/sys/class/net")) {
    double rate = numberIn(device / "speed"); // in Mb/s; -1: not known
    std::error_code error;
    bool isPort = fs::exists(device / "device", error); // and no bridge
    if (isPort && rate > 0 && hasWord(device / "operstate", "up")) {
      ports.push_back({device.filename().string(), rate * perMegabit});
    }
  }
  return ports;
}
