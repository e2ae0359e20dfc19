//===- Hosts.cpp - Processes on hosts, as a plan wants them ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hosts.h"

#include "divisi/runtime/comm/ProcessWorld.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace llvm;
using namespace divisi;

divisi::Expected<std::vector<Host>> divisi::readHosts(const std::string &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    return Status(ExitCode::File,
                  "cannot read '" + path + "': " + file.getError().message());
  }
  std::vector<Host> hosts;
  for (line_iterator line(**file, /*SkipBlanks=*/true, '#'); !line.is_at_end();
       ++line) {
    SmallVector<StringRef> words;
    line->split('#').first.split(words, ' ', -1, /*KeepEmpty=*/false);
    if (words.empty()) {
      continue;
    }
    int64_t slots = 1;
    for (StringRef word : words) {
      if (word.consume_front("slots=") &&
          (word.getAsInteger(10, slots) || slots < 0)) {
        return Status(ExitCode::Invalid,
                      "'" + path + "':" + std::to_string(line.line_number()) +
                          ": slots=" + word.str() + ": expected a number");
      }
    }
    auto known = find_if(
        hosts, [&](const Host &host) { return host.name == words.front(); });
    if (known == hosts.end()) {
      hosts.push_back({words.front().str(), slots});
    } else {
      known->slots += slots;
    }
  }
  return hosts;
}

std::vector<int64_t> divisi::processesByMachine(int64_t processes,
                                                const MachineShape &shape) {
  if (shape.machineRanks == 0 || processes > shape.numRanks) {
    return std::vector<int64_t>(size_t(processes), 1);
  }
  std::vector<int64_t> groups;
  for (int64_t process = 0; process < processes; ++process) {
    std::vector<uint32_t> ranks =
        rt::ranksOf(uint32_t(process), uint32_t(processes), shape.numRanks);
    if (ranks.front() % shape.machineRanks == 0) {
      groups.push_back(0);
    }
    ++groups.back();
  }
  return groups;
}

divisi::Expected<std::string> divisi::layOnHosts(const std::string &path,
                                                 int64_t processes,
                                                 const MachineShape &shape) {
  auto hosts = readHosts(path);
  if (!hosts) {
    return hosts.status();
  }
  int64_t slots = 0;
  for (const Host &host : *hosts) {
    slots += host.slots;
  }
  if (slots < processes) {
    return makeError(ExitCode::Usage, "the hosts of '", path, "' have ", slots,
                     " slots for ", processes, " processes");
  }
  std::vector<int64_t> taken(hosts->size());
  size_t host = 0;
  int64_t first = 0;
  for (int64_t wanted : processesByMachine(processes, shape)) {
    while (host < hosts->size() &&
           (*hosts)[host].slots - taken[host] < wanted) {
      ++host;
    }
    if (host == hosts->size()) {
      return makeError(
          ExitCode::Usage, "the plan takes the devices of processes ", first,
          " to ", first + wanted - 1, " to share a machine (its links: '",
          shape.links, "'), and no host of '", path, "' has ", wanted,
          " slots left for them; give such a host, or compile for a cluster of "
          "smaller machines (--cluster)");
    }
    taken[host] += wanted;
    first += wanted;
  }
  std::string text;
  for (auto [each, count] : zip_equal(*hosts, taken)) {
    if (count > 0) {
      text +=
          (text.empty() ? "" : ",") + each.name + ":" + std::to_string(count);
    }
  }
  return text;
}

/// Numbers as a person reads them: "0 to 3", "2".
static std::string rangeText(uint32_t first, uint32_t last) {
  return std::to_string(first) +
         (first == last ? "" : " to " + std::to_string(last));
}

std::string divisi::misplacedDevices(const std::vector<ProcessPlace> &places,
                                     const MachineShape &shape) {
  if (shape.machineRanks == 0) {
    return "";
  }
  std::vector<uint32_t> processOf =
      rt::processesOf(uint32_t(places.size()), shape.numRanks);
  for (uint32_t begin = 0; begin < shape.numRanks;
       begin += std::min(shape.machineRanks, shape.numRanks - begin)) {
    uint32_t end = begin + std::min(shape.machineRanks, shape.numRanks - begin);
    std::set<uint32_t> machines;
    std::string where;
    for (uint32_t rank = begin, first = begin; rank < end; ++rank) {
      const ProcessPlace &place = places[processOf[rank]];
      machines.insert(place.machine);
      if (rank + 1 == end ||
          places[processOf[rank + 1]].machine != place.machine) {
        where += (where.empty() ? "" : ", ") + rangeText(first, rank) +
                 " on '" + place.name + "'";
        first = rank + 1;
      }
    }
    if (machines.size() > 1) {
      return "the plan takes devices " + rangeText(begin, end - 1) +
             " to share a machine (its links: '" + shape.links +
             "'), and they are on " + std::to_string(machines.size()) + ": " +
             where;
    }
  }
  return "";
}
