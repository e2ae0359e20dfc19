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
//   introduce(channel, 2)                    (and shows that it has a secret)
//   send("hello")                   -->      hear(): {..., "hello"}
//   receive(deadline): "welcome"    <--      answer(2, "welcome", deadline)
//
// A party that ends closes its socket, however it ends. Anybody may connect:
// strangers have a few seconds and bytes to say who they are, there is room for
// some of them, and the oldest makes room.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H
#define DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H

#include "runtime/comm/pmix/Channel.h"

#include <deque>

namespace divisi::rt {

/// Who meets.
struct Meeting {
  uint32_t count = 0; ///< Of parties.
  const char *all;    ///< What they are called: "processes of this host".
  const char *number; ///< And their number: "LOCAL_RANK".
  /// How long they have to come.
  std::chrono::milliseconds limit{0};
  /// What parties show that they have. Without, all are of this user and host.
  std::optional<HostSecret> secret;
  /// The first that is waited for: those before, such as who has opened the
  /// socket, are not.
  uint32_t first = 0;
};

/// Who opens the socket; see the file's head.
class Rendezvous {
public:
  /// Fails with Usage if `address` is in use, and is so for longer than one
  /// takes to end.
  static Expected<Rendezvous> open(const SocketAddress &address,
                                   Meeting meeting);

  /// The next text of each party, in order; that of who has opened the socket
  /// is empty. Fails with Device, and names those that have not come in time,
  /// or have ended; with Invalid for another artifact. From the first time on
  /// nobody else can come, and the address is free; the limit then counts from
  /// the call.
  Expected<std::vector<std::string>> hear();
  /// Looks at parties that have all been heard until `deadline`. Fails with
  /// Device as soon as one has ended.
  Status watch(Deadline deadline);
  /// Whether that party has come, and has not ended.
  bool isThere(uint32_t party) const { return parties_[party].isOpen(); }
  /// Whoever has ended, or does not listen, is told nothing.
  void answer(uint32_t party, const std::string &text, Deadline deadline);
  /// Waits until all parties that have come have ended.
  void waitForEnd();
  /// The port at which it listens, as the system has chosen it; 0 of an address
  /// that has none.
  uint16_t port() const;
  /// Those who have not come have the meeting's limit from now on.
  void restart();
  /// The socket of a party that has been heard, for other use.
  Descriptor release(uint32_t party) { return parties_[party].release(); }

private:
  /// Who has not said who it is.
  struct Stranger {
    Channel channel;
    Deadline end;      ///< When it is sent away.
    Greeting greeting; ///< What it has said, if there is a nonce.
    std::string nonce; ///< Which it has to prove something of.
  };

  Rendezvous(Meeting meeting, Descriptor listener);
  /// Waits for anything to come, and takes it in; false after the deadline.
  bool takeIn(Deadline deadline);
  void takeFrom(Channel &channel, short events);
  void accept();
  /// Gives those that have said who they are their place.
  void seat();
  bool greet(Stranger &stranger, const std::string &text);
  void claim(Channel channel, uint32_t number);
  Expected<std::vector<std::string>> hearAll();
  bool isAwaited(size_t party) const { return party >= meeting_.first; }
  Status absence(const std::string &numbers, const std::string &why) const;
  Status ended(size_t party) const {
    return absence(std::to_string(party), "has ended while others waited");
  }

  Meeting meeting_;
  Descriptor listener_;
  Deadline deadline_;
  std::deque<Stranger> strangers_; ///< By age.
  std::vector<Channel> parties_;   ///< By number; not open: not come, or ended.
  uint64_t unknown_ = 0;           ///< Strangers without the secret.
  Status wrong_;                   ///< Of a party that nobody can meet.
};

/// What has come of an introduction.
enum class Introduction {
  Done,
  Gone,         ///< The other end has, or is none of ours.
  OtherKey,     ///< It has another secret.
  OtherArtifact ///< It has this one, and another artifact.
};

/// Says, to who has opened the socket, which party this is, and hears and shows
/// that both have `secret` if there is one.
Introduction introduce(Channel &channel, uint32_t number,
                       const std::optional<HostSecret> &secret,
                       Deadline deadline);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_RENDEZVOUS_H
