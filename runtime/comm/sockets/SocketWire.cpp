//===- SocketWire.cpp - A socket to each process --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/sockets/SocketWire.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

std::vector<size_t> SocketRequests::parties() const {
  std::vector<size_t> parties;
  for (const Entry &entry : left_) {
    parties.push_back(entry.message->party);
  }
  return parties;
}

SocketWire::SocketWire(int self, std::vector<Descriptor> sockets,
                       std::vector<bool> isNeighbour) {
  for (Descriptor &socket : sockets) {
    peers_.emplace_back(std::move(socket));
  }
  setPlace(self, std::move(isNeighbour), std::numeric_limits<int>::max());
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Both ends are here.
static void copy(Transfer &from, Transfer &to) {
  bool fits = from.bytes == to.bytes;
  if (fits && to.bytes != 0) {
    std::memcpy(to.target, from.source, size_t(to.bytes));
  }
  to.state = fits ? Transfer::State::Done : Transfer::State::Failed;
  from.state = Transfer::State::Done;
}

void SocketWire::sendToSelf(int tag, std::shared_ptr<Transfer> message) {
  std::shared_ptr<Transfer> other;
  if (takeFirst(wanted_, tag, other)) {
    copy(*message, *other);
  } else {
    sent_[tag].push_back(std::move(message));
  }
}

void SocketWire::receiveFromSelf(int tag, std::shared_ptr<Transfer> message) {
  std::shared_ptr<Transfer> other;
  if (takeFirst(sent_, tag, other)) {
    copy(*other, *message);
  } else {
    wanted_[tag].push_back(std::move(message));
  }
}

Status SocketWire::send(int process, int tag, const std::byte *data,
                        int64_t bytes, size_t party, Requests &requests) {
  auto message = std::make_shared<Transfer>(Transfer{party, bytes, data});
  static_cast<SocketRequests &>(requests).left_.push_back({process, message});
  if (process == self()) {
    sendToSelf(tag, std::move(message));
  } else {
    peers_[size_t(process)].send(tag, std::move(message));
  }
  return {};
}

Status SocketWire::receive(int process, int tag, std::byte *data, int64_t bytes,
                           size_t party, Requests &requests) {
  auto message =
      std::make_shared<Transfer>(Transfer{party, bytes, nullptr, data});
  static_cast<SocketRequests &>(requests).left_.push_back({process, message});
  if (process == self()) {
    receiveFromSelf(tag, std::move(message));
  } else {
    peers_[size_t(process)].receive(tag, std::move(message));
  }
  return {};
}

/// Sockets are looked at where notes are taken, which every look at a step does
/// before.
Status SocketWire::test(Requests &all) {
  auto &requests = static_cast<SocketRequests &>(all);
  for (const auto &entry : requests.left_) {
    if (entry.message->state == Transfer::State::Failed) {
      return makeError(ExitCode::Device, "process ", entry.process,
                       " has ended, or cannot be reached any more");
    }
  }
  std::erase_if(requests.left_, [](const auto &entry) {
    return entry.message->state == Transfer::State::Done;
  });
  return {};
}

void SocketWire::drop(Requests &all) {
  auto &requests = static_cast<SocketRequests &>(all);
  for (const auto &[process, message] : requests.left_) {
    if (process != self()) {
      peers_[size_t(process)].drop(message);
      continue;
    }
    for (auto *waiting : {&sent_, &wanted_}) {
      for (auto &[tag, messages] : *waiting) {
        std::erase(messages, message);
      }
      std::erase_if(*waiting,
                    [](const auto &entry) { return entry.second.empty(); });
    }
  }
  requests.left_.clear();
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

/// Reads and writes what there is, after at most so many milliseconds.
void SocketWire::look(int milliseconds) {
  entries_.clear();
  for (const SocketPeer &peer : peers_) { // poll() leaves out what is closed
    short events = peer.hasUnsent() ? POLLIN | POLLOUT : POLLIN;
    entries_.push_back({peer.descriptor(), events, 0});
  }
  if (poll(entries_.data(), entries_.size(), milliseconds) <= 0) {
    return;
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (entries_[i].revents & POLLOUT) {
      peers_[i].write();
    }
    if (peers_[i].isOpen() && (entries_[i].revents & ~POLLOUT)) {
      peers_[i].read(notes_);
    }
  }
}

/// Who has ended needs none.
Status SocketWire::sendNote(int process, std::string note) {
  if (process == self()) {
    notes_.push_back(std::move(note));
  } else {
    peers_[size_t(process)].sendNote(std::move(note));
  }
  return {};
}

Expected<std::string> SocketWire::takeNote() {
  if (notes_.empty()) {
    look(0);
  }
  if (notes_.empty()) {
    return std::string();
  }
  std::string note = std::move(notes_.front());
  notes_.pop_front();
  return note;
}

Status SocketWire::close(std::chrono::milliseconds timeout) {
  auto guard = lock();
  Deadline deadline = std::chrono::steady_clock::now() + timeout;
  auto hasUnsent = [](const SocketPeer &peer) { return peer.hasUnsent(); };
  while (std::any_of(peers_.begin(), peers_.end(), hasUnsent)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return makeError(ExitCode::Device, "the other processes did not take ",
                       "what this one has sent within ", timeout.count(),
                       " ms");
    }
    constexpr int moment = 10;
    look(moment);
  }
  for (SocketPeer &peer : peers_) {
    peer.end();
  }
  return {};
}
