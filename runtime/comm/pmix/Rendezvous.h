//===- Rendezvous.h - Where processes first meet ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before there is MPI, processes meet at a socket: one opens it and hears the
// others, which are numbered; each says something and is answered.
//
//   party 2                                  who has opened it
//   connectTo(address, deadline)
//   send("2"), send("hello")        -->      hear(deadline): {..., "hello"}
//   receive(deadline): "welcome"    <--      answer(2, "welcome")
//
// A party that ends closes its socket, however it ends.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H
#define DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H

#include "divisi/Support/Status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace divisi::rt {

/// When a wait is given up.
using Deadline = std::chrono::steady_clock::time_point;

/// Where a socket is.
struct SocketAddress {
  sockaddr_storage bytes{}; ///< What bind() and connect() take.
  socklen_t length = 0;     ///< Of these bytes, how many count.
};

/// Of processes of one user on this host. It is no file, and goes with the one
/// who has opened it.
SocketAddress localAddress(const std::string &name);
/// Of processes on any host. Fails with Device if `host` is unknown.
Expected<SocketAddress> networkAddress(const std::string &host, uint16_t port);
/// The same port, of all addresses of this host.
SocketAddress anyAddress(const SocketAddress &address);

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

/// One end of a connection, along which texts go. Nothing waits for longer than
/// until a deadline.
class Channel {
public:
  Channel() = default;
  /// Along a connected socket.
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Whether it has a socket.
  bool isOpen() const { return socket_.number() >= 0; }
  /// For poll(); owned by the channel.
  int descriptor() const { return socket_.number(); }
  /// From now on it is open for as long as the process lives.
  void keep() { (void)socket_.release(); }

  /// Whether all has been sent.
  bool send(const std::string &text, Deadline deadline);
  /// Takes in what has come, without waiting. Closes if that was the end, or
  /// no text.
  void read();
  /// The next text, if all of it has been taken in.
  std::optional<std::string> next();
  /// Waits for the next text; none if there is no more.
  std::optional<std::string> receive(Deadline deadline);

private:
  Descriptor socket_;
  std::string taken_; ///< Lengths and texts.
};

/// What is answered to a party: a text, or why there is none.
std::string encode(const Expected<std::string> &answer);
/// What encode() has got.
Expected<std::string> decode(const std::string &text);

/// Waits until somebody has opened `address`; not open if nobody has in time.
Channel connectTo(const SocketAddress &address, Deadline deadline);

/// Who opens the socket; see the file's head.
class Rendezvous {
public:
  /// What parties are called in messages.
  struct Names {
    const char *all;    ///< "processes of this host"
    const char *number; ///< "LOCAL_RANK"
  };

  /// For `count` parties, which have `limit` to come. Fails with Usage if
  /// `address` is in use, and is so for longer than one takes to end.
  static Expected<Rendezvous> open(const SocketAddress &address, uint32_t count,
                                   Names names,
                                   std::chrono::milliseconds limit);

  /// The next text of each party, in order. Fails with Device, and names those
  /// that have not come in time, or have ended. From then on nobody else can
  /// come, and the address is free.
  Expected<std::vector<std::string>> hear();
  /// Looks at parties that have all been heard until `deadline`. Fails with
  /// Device as soon as one has ended.
  Status watch(Deadline deadline);
  /// Whether that party has come, and has not ended.
  bool isThere(uint32_t party) const { return parties_[party].isOpen(); }
  /// Whoever has ended is told nothing.
  void answer(uint32_t party, const std::string &text);
  /// Waits until all parties that have come have ended.
  void waitForEnd();

private:
  Rendezvous(Names names, Descriptor listener, uint32_t count,
             std::chrono::milliseconds limit);
  /// Waits for anything to come, and takes it in; false at the deadline.
  bool takeIn(Deadline deadline);
  void accept();
  /// Gives those that have said who they are their place.
  void seat();
  Expected<std::vector<std::string>> hearAll();
  Status absence(const std::string &numbers, const std::string &why) const;
  Status ended(size_t party) const {
    return absence(std::to_string(party), "has ended while others waited");
  }

  Names names_;
  Descriptor listener_;
  std::chrono::milliseconds limit_;
  Deadline deadline_;              ///< Never, once all have come.
  std::vector<Channel> strangers_; ///< Have not said who they are.
  std::vector<Channel> parties_;   ///< By number; not open: not come, or ended.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H
