//===- Channel.h - One end of a connection ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_CHANNEL_H
#define DIVISI_RUNTIME_COMM_PMIX_CHANNEL_H

#include "runtime/comm/pmix/HostSecret.h"

#include <chrono>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace divisi::rt {

/// When a wait is given up.
using Deadline = std::chrono::steady_clock::time_point;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Where a socket is.
struct SocketAddress {
  sockaddr_storage bytes{}; ///< What bind() and connect() take.
  socklen_t length = 0;     ///< Of these bytes, how many count.

  /// As the system's calls want it.
  const sockaddr *get() const {
    return reinterpret_cast<const sockaddr *>(&bytes);
  }
};

/// Of processes of one user on this host. It is no file, and goes with the one
/// who has opened it.
SocketAddress localAddress(const std::string &name);
/// Of processes on any host: all that `host` has, in the system's order. Fails
/// with Device if it is unknown.
Expected<std::vector<SocketAddress>> networkAddresses(const std::string &host,
                                                      uint16_t port);
/// Where `host`, which is this one, listens for others that know `addresses` of
/// it: at the first of these that an interface of this host has. At all of its
/// interfaces where that is none, or is a loopback that only this host calls
/// so (Debian's /etc/hosts has the own name there).
SocketAddress listeningAddress(const std::string &host,
                               const std::vector<SocketAddress> &addresses);

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

/// An open file, or none: -1.
class Descriptor {
public:
  /// Owns the file of that number, and closes it.
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor &&other) : number_(other.release()) {}
  Descriptor &operator=(Descriptor &&other);
  ~Descriptor();

  /// As the system counts; -1 of none.
  int number() const { return number_; }
  /// Leaves it open.
  int release() { return std::exchange(number_, -1); }

private:
  int number_;
};

/// A socket that waits for nobody.
Descriptor makeSocket(const SocketAddress &address);
/// The port of this end; 0 of an address that has none.
uint16_t portOf(int socket);
/// Whether the other end is of this user, where the system tells.
bool isOwn(int socket);
/// Waits for one of poll()'s `events`; whether it has come.
bool waitFor(int descriptor, short events, Deadline deadline);
/// How long poll() may wait until then, in ms.
int untilThen(Deadline deadline);

/// One end of a connection, along which texts go. Nothing waits for longer than
/// until a deadline, and no more is kept than one text, whose bytes have come.
class Channel {
public:
  Channel() = default;
  /// Along a connected socket. The other end is a stranger: it says no more
  /// than maxGreeting bytes at a time.
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// From now on texts of so many bytes may come.
  void allow(size_t maxText) { limits_.text = maxText; }
  /// From now on texts have codes.
  void guard(TextCodes outgoing, TextCodes incoming);

  /// Whether it has a socket.
  bool isOpen() const { return socket_.number() >= 0; }
  /// For poll(); owned by the channel.
  int descriptor() const { return socket_.number(); }
  /// From now on it is open for as long as the process lives.
  void keep() { (void)socket_.release(); }
  /// Its socket, for other use: nothing may have come behind the last text.
  Descriptor release() { return std::move(socket_); }
  /// From now on it is not.
  void close() { socket_ = Descriptor(); }

  /// Whether all has been sent.
  bool send(std::string_view text, Deadline deadline);
  /// Takes in what has come of the next text, without waiting. Closes if there
  /// is no more, or no text.
  void read();
  /// Whether a text has come, behind which nothing is taken in.
  bool hasText() const;
  /// The next text, if all of it has been taken in. Closes if its code is
  /// another one.
  std::optional<std::string> next();
  /// Waits for the next text; none if there is no more.
  std::optional<std::string> receive(Deadline deadline);

private:
  Descriptor socket_;
  FrameLimits limits_ = {maxGreeting, 0};
  TextCodes outgoing_, incoming_;
  std::string taken_; ///< A frame, or the beginning of one.
};

/// Waits until somebody has opened one of `addresses`; not open if nobody has
/// in time.
Channel connectTo(const std::vector<SocketAddress> &addresses,
                  Deadline deadline);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_CHANNEL_H
