//===- HostExchange.cpp - What servers of hosts tell each other -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostExchange.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The most that all hosts say together.
static constexpr size_t maxAll = size_t(1) << 30;

/// What a wait for an answer adds to those of who gives it.
static constexpr milliseconds moment(2000);

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Where the first host's server is, in messages.
static std::string firstHost() {
  return "one port above MASTER_PORT=" + variable("MASTER_PORT") +
         " of MASTER_ADDR=" + variable("MASTER_ADDR");
}

/// Where it is: one port behind that of torchrun's store.
static Expected<std::vector<SocketAddress>> findFirstHost() {
  auto port = parseNumber(variable("MASTER_PORT"));
  if (!std::getenv("MASTER_ADDR") || !port || *port >= 65535) {
    return makeError(ExitCode::Usage, "MASTER_ADDR=", variable("MASTER_ADDR"),
                     " MASTER_PORT=", variable("MASTER_PORT"),
                     ": expected a host and a port below 65535, as torchrun "
                     "says where the first host is");
  }
  return networkAddresses(variable("MASTER_ADDR"),
                          static_cast<uint16_t>(*port + 1));
}

Expected<std::unique_ptr<HostExchange>> HostExchange::open(uint32_t self,
                                                           uint32_t count,
                                                           milliseconds limit,
                                                           HostSecret secret) {
  auto addresses = findFirstHost();
  if (!addresses) {
    return addresses.status();
  }
  std::unique_ptr<HostExchange> exchange(new HostExchange(count, limit));
  Status status =
      self == 0 ? exchange->openFirst(
                      listeningAddress(variable("MASTER_ADDR"), *addresses),
                      std::move(secret))
                : exchange->connect(*addresses, self, secret);
  if (!status.isOk()) {
    return status;
  }
  return exchange;
}

Status HostExchange::openFirst(const SocketAddress &address,
                               HostSecret secret) {
  auto meeting =
      Rendezvous::open(address, {count_, "hosts", "GROUP_RANK", limit_,
                                 std::move(secret), /*first=*/1});
  if (meeting) {
    meeting_ = std::move(*meeting);
  }
  return meeting.status();
}

/// Who answers there with another key may be of an earlier run, or nobody's.
Status HostExchange::connect(const std::vector<SocketAddress> &addresses,
                             uint32_t self, const HostSecret &secret) {
  constexpr milliseconds nap(20);
  Deadline deadline = steady_clock::now() + limit_;
  bool hasOtherKey = false;
  do {
    channel_ = connectTo(addresses, deadline);
    Introduction met = channel_.isOpen()
                           ? introduce(channel_, self, secret, deadline)
                           : Introduction::Gone;
    if (met == Introduction::Done) {
      channel_.allow(std::min(maxAll, count_ * (maxHostText + 1)));
      return Status();
    }
    if (met == Introduction::OtherArtifact) {
      return makeError(ExitCode::Invalid,
                       "GROUP_RANK 0 has another artifact "
                       "than GROUP_RANK ",
                       self, "; give all hosts the same");
    }
    hasOtherKey |= met == Introduction::OtherKey;
    std::this_thread::sleep_for(nap);
  } while (steady_clock::now() < deadline);
  if (hasOtherKey) {
    return makeError(ExitCode::Usage, "who listens ", firstHost(),
                     " has another key than GROUP_RANK ", self,
                     "; give all hosts the same DIVISI_HOSTS_KEY in their "
                     "environment, or the same file hosts.key of this user");
  }
  return makeError(ExitCode::Device, "of the ", count_,
                   " hosts GROUP_RANK 0 did not come within ", limit_.count(),
                   " ms, ", firstHost());
}

/// Whether one of `count` hosts may have so many bytes to say.
static Status checkBytes(size_t bytes, uint32_t count) {
  size_t most = std::min(maxHostText, maxAll / count);
  return bytes <= most
             ? Status()
             : makeError(ExitCode::Device, "a host of ", count, " has ", bytes,
                         " bytes to tell the others, expected at most ", most);
}

/// Hears all hosts; `own` stands first.
static Expected<std::string> hearAll(Rendezvous &meeting, std::string own) {
  auto texts = meeting.hear();
  if (!texts) {
    return texts.status();
  }
  for (const std::string &text : *texts) { // the first is empty
    Status status = checkBytes(text.size(), uint32_t(texts->size()));
    if (!status.isOk()) {
      return status;
    }
    own += text;
  }
  return own;
}

Expected<std::string> HostExchange::relay(const std::string &own) {
  auto all = hearAll(*meeting_, own);
  Deadline deadline = steady_clock::now() + limit_;
  std::string answer = encode(all);
  for (uint32_t host = 1; host < count_; ++host) {
    meeting_->answer(host, answer, deadline);
  }
  return all;
}

Expected<std::string> HostExchange::exchange(const std::string &own) {
  if (Status status = checkBytes(own.size(), count_); !status.isOk()) {
    return status;
  }
  if (meeting_) {
    return relay(own);
  }
  // The first host comes as late as the limit says, and waits as long again.
  Deadline deadline = steady_clock::now() + 2 * limit_ + moment;
  if (!channel_.send(own, deadline)) {
    return Status(ExitCode::Device, "the first host's server has ended");
  }
  auto answer = channel_.receive(deadline);
  if (!answer) {
    return channel_.isOpen()
               ? makeError(ExitCode::Device,
                           "the first host's server did not answer within ",
                           (2 * limit_ + moment).count(), " ms")
               : Status(ExitCode::Device, "the first host's server has ended");
  }
  auto all = decode(*answer);
  return all || !all.status().message().empty()
             ? all
             : Status(all.status().code(), "the first host's server has ended");
}
