//===- Hosts.cpp - Processes on hosts, as a plan wants them ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Hosts.h"
#include "divisi/Support/InputText.h"
#include "divisi/runtime/comm/ProcessWorld.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace divisi;
using namespace divisi::rt;

/// The value of `text`, a number that is not negative; nothing if it is none.
static std::optional<int64_t> parseCount(std::string_view text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber && value >= 0 ? std::optional(value) : std::nullopt;
}

/// Adds what a line without its comment says. Fails with the word that is
/// wrong.
static Status addHost(std::istringstream words, std::vector<Host> &hosts) {
  constexpr std::string_view slotsKey = "slots=";
  std::string name;
  if (!(words >> name)) {
    return {};
  }
  size_t colon = name.find(':');
  if (colon == name.rfind(':') && colon != name.npos &&
      parseCount(std::string_view(name).substr(colon + 1))) {
    return makeError(ExitCode::Invalid, name, ": expected '",
                     name.substr(0, colon), " slots=", name.substr(colon + 1),
                     "', as OpenMPI's mpirun reads it");
  }
  int64_t slots = 1;
  for (std::string word; words >> word;) {
    if (!word.starts_with(slotsKey)) {
      continue;
    }
    std::optional<int64_t> count =
        parseCount(std::string_view(word).substr(slotsKey.size()));
    if (!count) {
      return makeError(ExitCode::Invalid, word, ": expected a number");
    }
    slots = *count;
  }
  auto known = std::ranges::find(hosts, name, &Host::name);
  if (known == hosts.end()) {
    hosts.push_back({name, slots});
  } else {
    known->slots += slots;
  }
  return {};
}

Expected<std::vector<Host>> divisi::rt::readHosts(const std::string &path) {
  Expected<InputText> text = InputText::readFile(path);
  if (!text) {
    return text.status();
  }
  std::vector<Host> hosts;
  std::istringstream lines{std::string(text->text())};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    Status status =
        addHost(std::istringstream(line.substr(0, line.find('#'))), hosts);
    if (!status.isOk()) {
      return status.in("'" + path + "':" + std::to_string(number));
    }
  }
  return hosts;
}

std::vector<int64_t> divisi::rt::processesByMachine(int64_t processes,
                                                    const MachineShape &shape) {
  if (shape.machineRanks == 0 || processes > shape.numRanks) {
    return std::vector<int64_t>(size_t(processes), 1);
  }
  std::vector<int64_t> groups;
  for (int64_t process = 0; process < processes; ++process) {
    std::vector<uint32_t> ranks =
        ranksOf(uint32_t(process), uint32_t(processes), shape.numRanks);
    if (ranks.front() % shape.machineRanks == 0) {
      groups.push_back(0);
    }
    ++groups.back();
  }
  return groups;
}

Expected<std::string> divisi::rt::layOnHosts(const std::string &path,
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
          ExitCode::Usage, "the plan assumes that the devices of processes ",
          first, " to ", first + wanted - 1, " share a machine (its links: '",
          shape.links, "'), but no host of '", path, "' has ", wanted,
          " slots left for them; give such a host, or compile for a cluster of "
          "smaller machines (--cluster)");
    }
    taken[host] += wanted;
    first += wanted;
  }
  std::string text;
  for (size_t h = 0; h < hosts->size(); ++h) {
    if (taken[h] > 0) {
      text += (text.empty() ? "" : ",") + (*hosts)[h].name + ":" +
              std::to_string(taken[h]);
    }
  }
  return text;
}

/// Numbers as a person reads them: "0 to 3", "2".
static std::string rangeText(uint32_t first, uint32_t last) {
  return std::to_string(first) +
         (first == last ? "" : " to " + std::to_string(last));
}

std::string
divisi::rt::misplacedDevices(const std::vector<ProcessPlace> &places,
                             const MachineShape &shape) {
  if (shape.machineRanks == 0) {
    return "";
  }
  std::vector<uint32_t> processOf =
      processesOf(uint32_t(places.size()), shape.numRanks);
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
      return "the plan assumes that devices " + rangeText(begin, end - 1) +
             " share a machine (its links: '" + shape.links +
             "'), but they are on " + std::to_string(machines.size()) + ": " +
             where;
    }
  }
  return "";
}
