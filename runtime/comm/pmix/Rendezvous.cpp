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
#include <charconv>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// In which a text that is short can be sent, if it can be.
static constexpr milliseconds moment(1000);

/// More is no text of ours.
static constexpr uint64_t maxText = uint64_t(1) << 30;

SocketAddress divisi::rt::localAddress(const std::string &name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A zero in front: no file.
  size_t count = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), count);
  SocketAddress result;
  result.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  std::memcpy(&result.bytes, &address, result.length);
  return result;
}

Expected<SocketAddress> divisi::rt::networkAddress(const std::string &host,
                                                   uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return makeError(ExitCode::Device, "cannot find the host '", host,
                     "': ", gai_strerror(error));
  }
  SocketAddress address;
  address.length = found->ai_addrlen;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

SocketAddress divisi::rt::anyAddress(const SocketAddress &address) {
  SocketAddress any = address;
  if (address.bytes.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6 &>(any.bytes).sin6_addr = in6addr_any;
  } else {
    reinterpret_cast<sockaddr_in &>(any.bytes).sin_addr.s_addr = INADDR_ANY;
  }
  return any;
}

Descriptor &Descriptor::operator=(Descriptor &&other) {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    close(number_);
  }
}

/// How long poll() may wait.
static int untilThen(Deadline deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

static bool waitFor(int descriptor, short events, Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  int count = 0;
  do {
    count = poll(&entry, 1, untilThen(deadline));
  } while (count < 0 && errno == EINTR);
  return count > 0;
}

//===----------------------------------------------------------------------===//
// Channel
//===----------------------------------------------------------------------===//

bool Channel::send(const std::string &text, Deadline deadline) {
  uint64_t size = text.size();
  std::string all(reinterpret_cast<const char *>(&size), sizeof(size));
  all += text;
  for (size_t sent = 0; sent < all.size();) {
    ssize_t count = ::send(socket_.number(), all.data() + sent,
                           all.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!waitFor(socket_.number(), POLLOUT, deadline)) {
        return false;
      }
    } else {
      return false;
    }
  }
  return true;
}

void Channel::read() {
  char buffer[65536];
  while (isOpen()) {
    ssize_t count =
        recv(socket_.number(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (count > 0) {
      taken_.append(buffer, static_cast<size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && errno == EAGAIN) {
      return;
    } else {
      socket_ = Descriptor();
    }
  }
}

std::optional<std::string> Channel::next() {
  uint64_t size = 0;
  if (taken_.size() < sizeof(size)) {
    return std::nullopt;
  }
  std::memcpy(&size, taken_.data(), sizeof(size));
  if (size > maxText) {
    socket_ = Descriptor();
    return std::nullopt;
  }
  if (taken_.size() < sizeof(size) + size) {
    return std::nullopt;
  }
  std::string text = taken_.substr(sizeof(size), size);
  taken_.erase(0, sizeof(size) + size);
  return text;
}

std::optional<std::string> Channel::receive(Deadline deadline) {
  std::optional<std::string> text = next();
  while (!text && isOpen() && waitFor(socket_.number(), POLLIN, deadline)) {
    read();
    text = next();
  }
  return text;
}

// The code stands in front, with a zero behind.
std::string divisi::rt::encode(const Expected<std::string> &answer) {
  std::string text = std::to_string(static_cast<int>(answer.status().code()));
  text += '\0';
  return text + (answer ? *answer : answer.status().message());
}

Expected<std::string> divisi::rt::decode(const std::string &text) {
  int code = 0;
  size_t end = text.find('\0');
  if (end == std::string::npos) {
    return Status(ExitCode::Device, "another program answers");
  }
  std::from_chars(text.data(), text.data() + end, code);
  std::string rest = text.substr(end + 1);
  return code == 0 ? Expected(rest) : Status(static_cast<ExitCode>(code), rest);
}

/// Whether the other end is of this user, where the system tells.
static bool isOwn(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  sockaddr_storage address{};
  socklen_t addressLength = sizeof(address);
  bool isLocal = getsockname(socket, reinterpret_cast<sockaddr *>(&address),
                             &addressLength) == 0 &&
                 address.ss_family == AF_UNIX;
  return !isLocal ||
         (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
          peer.uid == geteuid());
}

static Descriptor makeSocket(const SocketAddress &address) {
  return Descriptor(socket(address.bytes.ss_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Channel divisi::rt::connectTo(const SocketAddress &address, Deadline deadline) {
  constexpr milliseconds moment(10);
  do {
    Descriptor socket = makeSocket(address);
    int result = connect(socket.number(),
                         reinterpret_cast<const sockaddr *>(&address.bytes),
                         address.length);
    if (result != 0 && errno == EINPROGRESS &&
        waitFor(socket.number(), POLLOUT, deadline)) {
      socklen_t length = sizeof(result);
      getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &result, &length);
    }
    if (result == 0 && isOwn(socket.number())) {
      return Channel(std::move(socket));
    }
    std::this_thread::sleep_for(moment);
  } while (steady_clock::now() < deadline);
  return Channel();
}

//===----------------------------------------------------------------------===//
// Rendezvous
//===----------------------------------------------------------------------===//

/// One that ended just now may still have the address.
static bool listenAt(const SocketAddress &address, Descriptor &listener) {
  constexpr milliseconds patience(2000), nap(20);
  Deadline deadline = steady_clock::now() + patience;
  int yes = 1; // also while connections of an earlier one are ending
  while (true) {
    listener = makeSocket(address);
    setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener.number(),
             reinterpret_cast<const sockaddr *>(&address.bytes),
             address.length) == 0 &&
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
                                      uint32_t count, Names names,
                                      milliseconds limit) {
  Descriptor listener;
  if (!listenAt(address, listener)) {
    return makeError(ExitCode::Usage, "the ", count, " ", names.all,
                     " cannot connect: ", std::strerror(errno),
                     "; is there another one with ", names.number, " 0?");
  }
  return Rendezvous(names, std::move(listener), count, limit);
}

Rendezvous::Rendezvous(Names names, Descriptor listener, uint32_t count,
                       milliseconds limit)
    : names_(names), listener_(std::move(listener)), limit_(limit),
      deadline_(steady_clock::now() + limit), parties_(count) {}

void Rendezvous::accept() {
  while (true) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.number() < 0) {
      return;
    }
    if (isOwn(socket.number())) {
      strangers_.emplace_back(std::move(socket));
    }
  }
}

void Rendezvous::seat() {
  for (Channel &stranger : strangers_) {
    std::optional<std::string> text = stranger.next();
    if (!text) {
      continue;
    }
    uint32_t number = 0;
    auto [end, error] =
        std::from_chars(text->data(), text->data() + text->size(), number);
    Channel channel = std::move(stranger);
    if (error != std::errc() || number >= parties_.size()) {
      continue;
    }
    if (!parties_[number].isOpen()) {
      parties_[number] = std::move(channel);
    } else {
      (void)channel.send(
          encode(makeError(ExitCode::Usage, "of the ", parties_.size(), " ",
                           names_.all, " another one is ", names_.number, " ",
                           number, ", too")),
          steady_clock::now() + moment);
    }
  }
  std::erase_if(strangers_,
                [](const Channel &channel) { return !channel.isOpen(); });
}

bool Rendezvous::takeIn(Deadline deadline) {
  std::vector<pollfd> entries = {{listener_.number(), POLLIN, 0}};
  std::vector<Channel *> channels;
  for (std::vector<Channel> *list : {&strangers_, &parties_}) {
    for (Channel &channel : *list) {
      if (channel.isOpen()) {
        entries.push_back({channel.descriptor(), POLLIN, 0});
        channels.push_back(&channel);
      }
    }
  }
  int count = poll(entries.data(), entries.size(), untilThen(deadline));
  if (count <= 0) {
    return count < 0 && errno == EINTR;
  }
  for (size_t i = 0; i < channels.size(); ++i) {
    if (entries[i + 1].revents != 0) {
      channels[i]->read();
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
                   names_.all, " ", names_.number, " ", numbers, " ", why);
}

Expected<std::vector<std::string>> Rendezvous::hear() {
  auto texts = hearAll();
  listener_ = Descriptor();
  strangers_.clear();
  deadline_ = Deadline::max();
  return texts;
}

Expected<std::vector<std::string>> Rendezvous::hearAll() {
  std::vector<std::optional<std::string>> texts(parties_.size());
  std::vector<bool> wasThere(parties_.size());
  while (true) {
    std::string absent;
    for (size_t i = 0; i < parties_.size(); ++i) {
      if (!texts[i]) {
        texts[i] = parties_[i].next();
      }
      if (wasThere[i] && !parties_[i].isOpen()) {
        return ended(i);
      }
      wasThere[i] = parties_[i].isOpen();
      if (!texts[i]) {
        absent += (absent.empty() ? "" : ", ") + std::to_string(i);
      }
    }
    if (absent.empty()) {
      break;
    }
    if (!takeIn(deadline_)) {
      return absence(absent, "did not come within " +
                                 std::to_string(limit_.count()) + " ms");
    }
  }
  std::vector<std::string> all;
  for (std::optional<std::string> &text : texts) {
    all.push_back(std::move(*text));
  }
  return all;
}

Status Rendezvous::watch(Deadline deadline) {
  do {
    for (size_t i = 0; i < parties_.size(); ++i) {
      if (!parties_[i].isOpen()) {
        return ended(i);
      }
    }
  } while (takeIn(deadline));
  return {};
}

void Rendezvous::answer(uint32_t party, const std::string &text) {
  if (parties_[party].isOpen()) {
    (void)parties_[party].send(text, steady_clock::now() + moment);
  }
}

void Rendezvous::waitForEnd() {
  while (std::any_of(parties_.begin(), parties_.end(),
                     [](const Channel &party) { return party.isOpen(); })) {
    takeIn(Deadline::max());
  }
}
