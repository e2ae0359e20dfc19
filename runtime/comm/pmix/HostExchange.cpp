//===- HostExchange.cpp - What servers of hosts tell each other -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostExchange.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Where the first host's server is: one port behind that of torchrun's store.
static Expected<SocketAddress> findFirstHost() {
  const char *host = std::getenv("MASTER_ADDR");
  const char *number = std::getenv("MASTER_PORT");
  std::string_view text = number ? number : "";
  uint16_t port = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  if (!host || error != std::errc() || end != text.data() + text.size() ||
      port == 65535) {
    return makeError(ExitCode::Usage, "MASTER_ADDR=", host ? host : "",
                     " MASTER_PORT=", text,
                     ": expected a host and a port below 65535, as torchrun "
                     "says where the first host is");
  }
  return networkAddress(host, static_cast<uint16_t>(port + 1));
}

/// Hears all hosts and answers each with what all have said, until one ends.
static void relay(Rendezvous meeting, uint32_t count) {
  Expected<std::string> all = std::string();
  while (all) {
    auto texts = meeting.hear();
    if (!texts) {
      all = texts.status();
    } else {
      all = std::string();
      for (const std::string &text : *texts) {
        *all += text;
      }
    }
    for (uint32_t host = 0; host < count; ++host) {
      meeting.answer(host, encode(all));
    }
  }
}

Expected<std::unique_ptr<HostExchange>>
HostExchange::open(uint32_t self, uint32_t count, milliseconds limit) {
  auto address = findFirstHost();
  if (!address) {
    return address.status();
  }
  if (self == 0) {
    auto meeting = Rendezvous::open(anyAddress(*address), count,
                                    {"hosts", "GROUP_RANK"}, limit);
    if (!meeting) {
      return meeting.status();
    }
    std::thread(relay, std::move(*meeting), count).detach();
  }
  Deadline deadline = steady_clock::now() + limit;
  Channel channel = connectTo(*address, deadline);
  if (!channel.isOpen() || !channel.send(std::to_string(self), deadline)) {
    return makeError(
        ExitCode::Device, "of the ", count,
        " hosts GROUP_RANK 0 did not come within ", limit.count(),
        " ms, one port above MASTER_PORT=", std::getenv("MASTER_PORT"),
        " of MASTER_ADDR=", std::getenv("MASTER_ADDR"));
  }
  return std::unique_ptr<HostExchange>(new HostExchange(std::move(channel)));
}

Expected<std::string> HostExchange::exchange(const std::string &own) {
  std::optional<std::string> answer;
  if (channel_.send(own, Deadline::max())) {
    answer = channel_.receive(Deadline::max());
  }
  return answer ? decode(*answer)
                : Status(ExitCode::Device, "the first host's server has ended");
}
