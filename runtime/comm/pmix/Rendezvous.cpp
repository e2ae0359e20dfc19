//===- Rendezvous.cpp - Where processes first meet ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/Rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// In which a stranger says who it is, if it can.
static constexpr milliseconds patience(5000);

/// How many strangers there may be beyond the parties.
static constexpr size_t moreStrangers = 32;

/// How many are let in before those who have something to say are heard.
static constexpr int maxAtOnce = 16;

//===----------------------------------------------------------------------===//
// The socket
//===----------------------------------------------------------------------===//

/// One that ended just now may still have the address.
static bool listenAt(const SocketAddress &address, Descriptor &listener) {
  constexpr milliseconds grace(2000), nap(20);
  Deadline deadline = steady_clock::now() + grace;
  int yes = 1; // also while connections of an earlier one are ending
  while (true) {
    listener = makeSocket(address);
    setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener.number(), address.get(), address.length) == 0 &&
        listen(listener.number(), SOMAXCONN) == 0) {
      return true;
    }
    if (errno != EADDRINUSE || steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(nap);
  }
}

Expected<Rendezvous> Rendezvous::open(const SocketAddress &address,
                                      Meeting meeting) {
  Descriptor listener;
  if (!listenAt(address, listener)) {
    return makeError(ExitCode::Usage, "the ", meeting.count, " ", meeting.all,
                     " cannot connect: ", std::strerror(errno),
                     "; is there another one with ", meeting.number, " 0?");
  }
  return Rendezvous(std::move(meeting), std::move(listener));
}

Rendezvous::Rendezvous(Meeting meeting, Descriptor listener)
    : meeting_(std::move(meeting)), listener_(std::move(listener)),
      deadline_(steady_clock::now() + meeting_.limit),
      parties_(meeting_.count) {}

void Rendezvous::accept() {
  for (int i = 0; i < maxAtOnce; ++i) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.number() < 0) {
      return;
    }
    if (!isOwn(socket.number())) {
      continue;
    }
    if (strangers_.size() >= parties_.size() + moreStrangers) {
      strangers_.pop_front();
    }
    strangers_.push_back(
        {Channel(std::move(socket)), steady_clock::now() + patience, {}, {}});
  }
}

//===----------------------------------------------------------------------===//
// Strangers
//===----------------------------------------------------------------------===//

void Rendezvous::claim(Channel channel, uint32_t number) {
  channel.allow(maxHostText);
  if (!parties_[number].isOpen()) {
    parties_[number] = std::move(channel);
    return;
  }
  (void)channel.send(
      encode(makeError(ExitCode::Usage, "of the ", parties_.size(), " ",
                       meeting_.all, " another one is ", meeting_.number, " ",
                       number, ", too")),
      steady_clock::now());
}

/// Answers a greeting, or looks at the proof that comes then. Whether the
/// stranger may stay one.
bool Rendezvous::greet(Stranger &stranger, const std::string &text) {
  const HostSecret &secret = *meeting_.secret;
  if (stranger.nonce.empty()) {
    auto greeting = parseGreeting(text);
    if (!greeting || greeting->number >= parties_.size() ||
        !isAwaited(greeting->number)) {
      return false;
    }
    stranger.greeting = *greeting;
    stranger.nonce = makeNonce();
    return !stranger.nonce.empty() &&
           stranger.channel.send(stranger.nonce + secret.prove(HostEnd::First,
                                                               *greeting,
                                                               stranger.nonce),
                                 steady_clock::now());
  }
  Proof proof =
      secret.check(HostEnd::Other, stranger.greeting, stranger.nonce, text);
  uint32_t number = stranger.greeting.number;
  if (proof == Proof::None) {
    ++unknown_;
  } else if (proof == Proof::Artifact) {
    wrong_ = makeError(ExitCode::Invalid, "of the ", parties_.size(), " ",
                       meeting_.all, " ", meeting_.number, " ", number,
                       " has another artifact than ", meeting_.number, " 0");
  } else {
    stranger.channel.guard(
        secret.codesOf(HostEnd::First, stranger.greeting, stranger.nonce),
        secret.codesOf(HostEnd::Other, stranger.greeting, stranger.nonce));
    claim(std::move(stranger.channel), number);
  }
  return false;
}

void Rendezvous::seat() {
  for (Stranger &stranger : strangers_) {
    std::optional<std::string> text = stranger.channel.next();
    if (!text) {
      continue;
    }
    if (meeting_.secret) {
      if (!greet(stranger, *text)) {
        stranger.channel.close();
      }
      continue;
    }
    Channel channel = std::move(stranger.channel);
    auto number = parseNumber(*text);
    if (number && *number < parties_.size()) {
      claim(std::move(channel), *number);
    }
  }
  Deadline now = steady_clock::now();
  std::erase_if(strangers_, [&](const Stranger &stranger) {
    return !stranger.channel.isOpen() || stranger.end <= now;
  });
}

Introduction divisi::rt::introduce(Channel &channel, uint32_t number,
                                   const std::optional<HostSecret> &secret,
                                   Deadline deadline) {
  if (!secret) {
    channel.allow(maxHostText);
    return channel.send(std::to_string(number), deadline) ? Introduction::Done
                                                          : Introduction::Gone;
  }
  Greeting greeting = {number, makeNonce()};
  if (!channel.send(makeGreeting(greeting), deadline)) {
    return Introduction::Gone;
  }
  auto text = channel.receive(deadline);
  if (!text || text->size() != nonceBytes + proofBytes) {
    return Introduction::Gone;
  }
  std::string nonce = text->substr(0, nonceBytes);
  Proof proof = secret->check(HostEnd::First, greeting, nonce,
                              std::string_view(*text).substr(nonceBytes));
  // Also where the other end does not know this one, for it to say so.
  if (!channel.send(secret->prove(HostEnd::Other, greeting, nonce), deadline)) {
    return Introduction::Gone;
  }
  if (proof == Proof::None) {
    return Introduction::OtherKey;
  }
  channel.guard(secret->codesOf(HostEnd::Other, greeting, nonce),
                secret->codesOf(HostEnd::First, greeting, nonce));
  channel.allow(maxHostText);
  return proof == Proof::Same ? Introduction::Done
                              : Introduction::OtherArtifact;
}

//===----------------------------------------------------------------------===//
// Parties
//===----------------------------------------------------------------------===//

/// An end is noticed also behind a text that nobody has asked for.
void Rendezvous::takeFrom(Channel &channel, short events) {
  if (events != 0 && channel.hasText()) {
    channel.close();
  } else if (events != 0) {
    channel.read();
  }
}

bool Rendezvous::takeIn(Deadline deadline) {
  if (steady_clock::now() >= deadline) {
    return false;
  }
  std::vector<pollfd> entries = {{listener_.number(), POLLIN, 0}};
  std::vector<Channel *> channels;
  auto add = [&](Channel &channel) {
    if (channel.isOpen()) {
      short events = channel.hasText() ? POLLRDHUP : POLLIN | POLLRDHUP;
      entries.push_back({channel.descriptor(), events, 0});
      channels.push_back(&channel);
    }
  };
  for (Stranger &stranger : strangers_) {
    add(stranger.channel);
    deadline = std::min(deadline, stranger.end);
  }
  std::ranges::for_each(parties_, add);
  if (poll(entries.data(), entries.size(), untilThen(deadline)) > 0) {
    for (size_t i = 0; i < channels.size(); ++i) {
      takeFrom(*channels[i], entries[i + 1].revents);
    }
  }
  seat();
  if (entries.front().revents != 0) {
    accept();
  }
  return true;
}

Status Rendezvous::absence(const std::string &numbers,
                           const std::string &why) const {
  return makeError(ExitCode::Device, "of the ", parties_.size(), " ",
                   meeting_.all, " ", meeting_.number, " ", numbers, " ", why);
}

void Rendezvous::restart() { deadline_ = steady_clock::now() + meeting_.limit; }

uint16_t Rendezvous::port() const { return portOf(listener_.number()); }

Expected<std::vector<std::string>> Rendezvous::hear() {
  if (listener_.number() < 0) {
    restart();
  }
  auto texts = hearAll();
  listener_ = Descriptor();
  strangers_.clear();
  return texts;
}

Expected<std::vector<std::string>> Rendezvous::hearAll() {
  std::vector<std::string> texts(parties_.size());
  std::vector<bool> isHeard(parties_.size()), wasThere(parties_.size());
  while (true) {
    std::string absent;
    for (size_t i = 0; i < parties_.size(); ++i) {
      if (!isAwaited(i)) {
        continue;
      }
      if (!isHeard[i]) {
        auto text = parties_[i].next();
        isHeard[i] = text.has_value();
        texts[i] = text.value_or("");
      }
      if (wasThere[i] && !parties_[i].isOpen()) {
        return ended(i);
      }
      wasThere[i] = parties_[i].isOpen();
      if (!isHeard[i]) {
        absent += (absent.empty() ? "" : ", ") + std::to_string(i);
      }
    }
    if (absent.empty()) {
      return texts;
    }
    if (!wrong_.isOk()) {
      return wrong_;
    }
    if (!takeIn(deadline_)) {
      std::string why = "did not come within " +
                        std::to_string(meeting_.limit.count()) + " ms";
      return absence(absent, unknown_ == 0 ? why
                                           : why + "; who has come instead, " +
                                                 std::to_string(unknown_) +
                                                 " times, has another key");
    }
  }
}

Status Rendezvous::watch(Deadline deadline) {
  do {
    for (size_t i = 0; i < parties_.size(); ++i) {
      if (isAwaited(i) && !parties_[i].isOpen()) {
        return ended(i);
      }
    }
  } while (takeIn(deadline));
  return {};
}

void Rendezvous::answer(uint32_t party, const std::string &text,
                        Deadline deadline) {
  if (parties_[party].isOpen()) {
    (void)parties_[party].send(text, deadline);
  }
}

void Rendezvous::waitForEnd() {
  while (std::any_of(parties_.begin(), parties_.end(),
                     [](const Channel &party) { return party.isOpen(); })) {
    takeIn(Deadline::max());
  }
}
