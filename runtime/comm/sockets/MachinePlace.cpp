//===- MachinePlace.cpp - Where a process is ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/sockets/MachinePlace.h"

#include <arpa/inet.h>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

std::string divisi::rt::machineName() {
  std::string boot, network(256, '\0');
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  ssize_t length =
      readlink("/proc/self/ns/net", network.data(), network.size());
  network.resize(length > 0 ? size_t(length) : 0);
  return boot + " " + network + " " + std::to_string(geteuid());
}

/// As a number; empty of what leads nowhere from another machine.
static std::string spell(const sockaddr *address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto &bytes =
        reinterpret_cast<const sockaddr_in *>(address)->sin_addr;
    inet_ntop(AF_INET, &bytes, text, sizeof(text));
  } else if (address->sa_family == AF_INET6) {
    const auto &bytes =
        reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&bytes)) {
      inet_ntop(AF_INET6, &bytes, text, sizeof(text));
    }
  }
  return text;
}

std::vector<std::string> divisi::rt::machineAddresses() {
  std::vector<std::string> found;
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) != 0) {
    return found;
  }
  for (const ifaddrs *next = all; next; next = next->ifa_next) {
    bool isUsable = next->ifa_addr && (next->ifa_flags & IFF_UP) &&
                    !(next->ifa_flags & IFF_LOOPBACK);
    std::string text = isUsable ? spell(next->ifa_addr) : "";
    if (!text.empty()) {
      found.push_back(std::move(text));
    }
  }
  freeifaddrs(all);
  return found;
}
