//===- Channel.cpp - One end of a connection ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/Channel.h"
#include "divisi/Support/UserKey.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
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

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

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

Expected<std::vector<SocketAddress>>
divisi::rt::networkAddresses(const std::string &host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return makeError(ExitCode::Device, "cannot find the host '", host,
                     "': ", gai_strerror(error));
  }
  std::vector<SocketAddress> addresses;
  for (addrinfo *next = found; next; next = next->ai_next) {
    SocketAddress &address = addresses.emplace_back();
    address.length = next->ai_addrlen;
    std::memcpy(&address.bytes, next->ai_addr, next->ai_addrlen);
  }
  freeaddrinfo(found);
  return addresses;
}

/// The same port, of all addresses of this host.
static SocketAddress anyAddress(const SocketAddress &address) {
  SocketAddress any = address;
  if (address.bytes.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6 &>(any.bytes).sin6_addr = in6addr_any;
  } else {
    reinterpret_cast<sockaddr_in &>(any.bytes).sin_addr.s_addr = INADDR_ANY;
  }
  return any;
}

/// Whether an interface of this host has it: then a socket may, at some port.
static bool isOfThisHost(SocketAddress address) {
  if (address.bytes.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6 &>(address.bytes).sin6_port = 0;
  } else {
    reinterpret_cast<sockaddr_in &>(address.bytes).sin_port = 0;
  }
  return bind(makeSocket(address).number(), address.get(), address.length) == 0;
}

static bool isLoopback(const SocketAddress &address) {
  if (address.bytes.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(
        &reinterpret_cast<const sockaddr_in6 &>(address.bytes).sin6_addr);
  }
  auto &bytes = reinterpret_cast<const sockaddr_in &>(address.bytes);
  return ntohl(bytes.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// Whether all hosts call the same address so.
static bool isSameForAll(const std::string &host) {
  in6_addr ignored{};
  return host == "localhost" ||
         inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

SocketAddress
divisi::rt::listeningAddress(const std::string &host,
                             const std::vector<SocketAddress> &addresses) {
  for (const SocketAddress &address : addresses) {
    if (isOfThisHost(address) && (!isLoopback(address) || isSameForAll(host))) {
      return address;
    }
  }
  return anyAddress(addresses.front());
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

Descriptor &Descriptor::operator=(Descriptor &&other) {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    close(number_);
  }
}

Descriptor divisi::rt::makeSocket(const SocketAddress &address) {
  return Descriptor(socket(address.bytes.ss_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

uint16_t divisi::rt::portOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6 &>(address).sin6_port);
  }
  return address.ss_family == AF_INET
             ? ntohs(reinterpret_cast<sockaddr_in &>(address).sin_port)
             : 0;
}

bool divisi::rt::isOwn(int socket) {
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

int divisi::rt::untilThen(Deadline deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

bool divisi::rt::waitFor(int descriptor, short events, Deadline deadline) {
  pollfd entry{descriptor, events, 0};
  // Who always has something to say is not heard for ever.
  while (steady_clock::now() < deadline) {
    int count = poll(&entry, 1, untilThen(deadline));
    if (count >= 0 || errno != EINTR) {
      return count > 0;
    }
  }
  return false;
}

static bool connectOnce(const SocketAddress &address, int socket,
                        Deadline deadline) {
  int error = connect(socket, address.get(), address.length) == 0 ? 0 : errno;
  if (error == EINPROGRESS && waitFor(socket, POLLOUT, deadline)) {
    socklen_t length = sizeof(error);
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  return error == 0 && isOwn(socket);
}

Channel divisi::rt::connectTo(const std::vector<SocketAddress> &addresses,
                              Deadline deadline) {
  constexpr milliseconds nap(10), turn(2000);
  do {
    for (const SocketAddress &address : addresses) {
      // One that leads nowhere leaves time for others.
      Deadline end = addresses.size() == 1
                         ? deadline
                         : std::min(deadline, steady_clock::now() + turn);
      Descriptor socket = makeSocket(address);
      if (connectOnce(address, socket.number(), end)) {
        return Channel(std::move(socket));
      }
    }
    std::this_thread::sleep_for(nap);
  } while (steady_clock::now() < deadline);
  return Channel();
}

//===----------------------------------------------------------------------===//
// Channel
//===----------------------------------------------------------------------===//

void Channel::guard(TextCodes outgoing, TextCodes incoming) {
  outgoing_ = std::move(outgoing);
  incoming_ = std::move(incoming);
  limits_.code = incoming_.size();
}

bool Channel::send(std::string_view text, Deadline deadline) {
  std::string all = makeFrame(text, outgoing_.next(text));
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
    auto frame = parseFrame(taken_, limits_);
    if (!frame) {
      close();
      return;
    }
    if (frame->isWhole) {
      return;
    }
    size_t missing = std::min(frame->size - taken_.size(), sizeof(buffer));
    ssize_t count = recv(socket_.number(), buffer, missing, MSG_DONTWAIT);
    if (count > 0) {
      taken_.append(buffer, static_cast<size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && errno == EAGAIN) {
      return;
    } else {
      close();
    }
  }
}

bool Channel::hasText() const {
  auto frame = parseFrame(taken_, limits_);
  return frame && frame->isWhole;
}

std::optional<std::string> Channel::next() {
  auto frame = parseFrame(taken_, limits_);
  if (!frame || !frame->isWhole) {
    return std::nullopt;
  }
  std::string text(frame->text), code(frame->code);
  taken_ = std::string();
  if (incoming_.isOn() && !areEqualCodes(incoming_.next(text), code)) {
    close();
    return std::nullopt;
  }
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
