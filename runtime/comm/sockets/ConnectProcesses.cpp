//===- ConnectProcesses.cpp - Processes that their host connects ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What processes have in common by now is the host's exchange. They use it
// three times: to say where they are and to make a key, to say where each
// listens, and to agree that all have met. Each connects to those before it,
// and lets in those behind it that have the key:
//
//   process 0: hears 1, 2     process 1: calls 0, hears 2     process 2: calls
//   both
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Sha256.h"
#include "divisi/Support/Version.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "runtime/comm/messages/MessageWorld.h"
#include "runtime/comm/pmix/Rendezvous.h"
#include "runtime/comm/sockets/MachinePlace.h"
#include "runtime/comm/sockets/SocketWire.h"

#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::steady_clock;

namespace {

/// One use of it, by one process.
class Connecting {
public:
  explicit Connecting(const HostedProcesses &processes)
      : processes_(processes), sockets_(processes.size) {}

  Expected<std::shared_ptr<ProcessWorld>> run();

private:
  Status meet();
  std::string listen();
  Status listenOnNetwork();
  Status connectTo(uint32_t other, const std::string &told);
  Status hear();
  SocketAddress localAddressOf(uint32_t process) const;
  std::string secretOf(uint32_t process) const;

  const HostedProcesses &processes_;
  std::vector<Descriptor> sockets_;
  std::vector<bool> isNeighbour_;
  bool isOneMachine_ = true;
  std::string key_; ///< That only these processes have.
  std::optional<Rendezvous> meeting_;
};

} // namespace

/// The lines of a text.
static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Where all are, and what makes the key: a part of each.
Status Connecting::meet() {
  std::string machine =
      processes_.machine.empty() ? machineName() : processes_.machine;
  auto texts = processes_.exchange(std::string(version()) + "\n" + machine +
                                   "\n" + toHex(makeNonce()) + "\n");
  if (!texts) {
    return texts.status();
  }
  for (uint32_t process = 0; process < processes_.size; ++process) {
    std::vector<std::string> lines = linesOf((*texts)[process]);
    if (lines.size() != 3 || lines[2].size() != 2 * nonceBytes) {
      return makeError(ExitCode::Usage,
                       "the exchange gave something else than "
                       "process ",
                       process, " has said");
    }
    if (lines[0] != version()) {
      return makeError(ExitCode::Version, "process ", process, " has divisi ",
                       lines[0], ", and this one ", version());
    }
    isNeighbour_.push_back(lines[1] == machine);
    isOneMachine_ = isOneMachine_ && isNeighbour_.back();
    key_ += lines[2];
  }
  return {};
}

SocketAddress Connecting::localAddressOf(uint32_t process) const {
  return localAddress("divisi-" +
                      toHex(Sha256::of(key_ + " " + std::to_string(process))));
}

/// A socket at all addresses, or at the one that the caller has named.
Status Connecting::listenOnNetwork() {
  SocketAddress address;
  if (!processes_.address.empty()) {
    auto addresses = networkAddresses(processes_.address, 0);
    if (!addresses) {
      return addresses.status();
    }
    address = listeningAddress(processes_.address, *addresses);
  } else {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    address.length = sizeof(any);
    std::memcpy(&address.bytes, &any, sizeof(any));
    if (makeSocket(address).number() < 0) { // there is no IPv6
      sockaddr_in only{};
      only.sin_family = AF_INET;
      address.length = sizeof(only);
      std::memcpy(&address.bytes, &only, sizeof(only));
    }
  }
  auto meeting = Rendezvous::open(
      address, {processes_.size, "processes", "process", processes_.timeout,
                HostSecret(key_, ""), processes_.self + 1});
  if (meeting) {
    meeting_ = std::move(*meeting);
  }
  return meeting.status();
}

/// What others have to know to connect, or why they cannot.
std::string Connecting::listen() {
  Status status;
  if (isOneMachine_) {
    auto meeting = Rendezvous::open(localAddressOf(processes_.self),
                                    {processes_.size, "processes", "process",
                                     processes_.timeout, HostSecret(key_, ""),
                                     processes_.self + 1});
    if (meeting) {
      meeting_ = std::move(*meeting);
    }
    status = meeting.status();
  } else {
    status = listenOnNetwork();
  }
  if (!status.isOk()) {
    return "!" + status.message();
  }
  std::string told = std::to_string(meeting_->port()) + "\n";
  std::vector<std::string> addresses = processes_.address.empty()
                                           ? machineAddresses()
                                           : std::vector{processes_.address};
  constexpr size_t most = 32;
  for (size_t i = 0; !isOneMachine_ && i < addresses.size() && i < most; ++i) {
    told += addresses[i] + "\n";
  }
  return told;
}

/// Tries what the other one has said, in turn: some of it may lead to others.
Status Connecting::connectTo(uint32_t other, const std::string &told) {
  constexpr std::chrono::milliseconds nap(10), turn(2000);
  std::vector<std::string> lines = linesOf(told);
  std::vector<SocketAddress> addresses;
  if (isOneMachine_) {
    addresses.push_back(localAddressOf(other));
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    auto found =
        networkAddresses(lines[i], uint16_t(parseNumber(lines[0]).value_or(0)));
    if (found) {
      addresses.insert(addresses.end(), found->begin(), found->end());
    }
  }
  Deadline deadline = steady_clock::now() + processes_.timeout;
  do {
    for (const SocketAddress &address : addresses) {
      Deadline end = std::min(deadline, steady_clock::now() + turn);
      Channel channel = rt::connectTo({address}, end);
      if (channel.isOpen() &&
          introduce(channel, processes_.self, HostSecret(key_, ""), end) ==
              Introduction::Done &&
          channel.send("here", end)) {
        sockets_[other] = channel.release();
        return {};
      }
    }
    std::this_thread::sleep_for(nap);
  } while (steady_clock::now() < deadline);
  return makeError(ExitCode::Device, "process ", processes_.self,
                   " cannot reach process ", other, " within ",
                   processes_.timeout.count(),
                   " ms; where it is on another machine, say by which address "
                   "it is reached");
}

/// Those behind this one.
Status Connecting::hear() {
  auto texts = meeting_->hear();
  for (uint32_t i = processes_.self + 1; texts && i < processes_.size; ++i) {
    sockets_[i] = meeting_->release(i);
  }
  return texts.status();
}

/// Small messages are not held back for what may follow.
static void hurry(const Descriptor &socket) {
  int yes = 1; // a socket of one machine has no such option
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

Expected<std::shared_ptr<ProcessWorld>> Connecting::run() {
  if (Status status = meet(); !status.isOk()) {
    return status;
  }
  auto told = processes_.exchange(listen());
  if (!told) {
    return told.status();
  }
  Status status;
  for (uint32_t i = 0; i < processes_.size && status.isOk(); ++i) {
    if ((*told)[i].starts_with("!")) {
      return makeError(ExitCode::Device, "process ", i, ": ",
                       (*told)[i].substr(1));
    }
  }
  meeting_->restart();
  for (uint32_t i = 0; i < processes_.self && status.isOk(); ++i) {
    status = connectTo(i, (*told)[i]);
  }
  if (status.isOk()) {
    status = hear();
  }
  auto ends = processes_.exchange(status.isOk() ? "" : status.message());
  if (!ends || !status.isOk()) {
    return status.isOk() ? ends.status() : status;
  }
  for (uint32_t i = 0; i < processes_.size; ++i) {
    if (!(*ends)[i].empty()) {
      return makeError(ExitCode::Device, "process ", i, ": ", (*ends)[i]);
    }
    hurry(sockets_[i]);
  }
  return std::shared_ptr<ProcessWorld>(
      std::make_shared<MessageWorld>(std::make_unique<SocketWire>(
          int(processes_.self), std::move(sockets_), std::move(isNeighbour_))));
}

Expected<std::shared_ptr<ProcessWorld>>
divisi::rt::connectProcesses(const HostedProcesses &processes) {
  return Connecting(processes).run();
}
