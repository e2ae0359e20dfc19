//===- SocketPeer.h - Messages along one socket -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes along a socket is frames: a head, and bytes behind it.
//
//   note    its text
//   data    a message with a tag
//   ask     nothing: a message is too long to come before it is wanted
//   go      nothing: it is wanted
//
// A short message may come before it is wanted, and is kept then. A long one
// waits for `go`, so that it is read to where it belongs, and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_SOCKETS_SOCKETPEER_H
#define DIVISI_RUNTIME_COMM_SOCKETS_SOCKETPEER_H

#include "runtime/comm/pmix/Channel.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace divisi::rt {

/// A message of one step, on its way.
struct Transfer {
  /// What becomes of it.
  enum class State { InFlight, Done, Failed };

  size_t party = 0;                  ///< Of the step.
  int64_t bytes = 0;                 ///< How long it is.
  const std::byte *source = nullptr; ///< What is sent.
  std::byte *target = nullptr;   ///< Where it comes; null: it is thrown away.
  State state = State::InFlight; ///< Failed: the other process has ended.
};

/// Messages by their tags, those of one tag in their order.
template <typename T> using ByTag = std::map<int, std::deque<T>>;

/// Takes the first of a tag; whether there is one.
template <typename T> bool takeFirst(ByTag<T> &all, int tag, T &first) {
  auto found = all.find(tag);
  if (found == all.end()) {
    return false;
  }
  first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    all.erase(found);
  }
  return true;
}

/// One end of a connection between two processes; see the file's head.
class SocketPeer {
public:
  /// Along a connected socket that waits for nobody.
  explicit SocketPeer(Descriptor socket);

  /// Whether the other process is there.
  bool isOpen() const { return socket_.number() >= 0; }
  /// For poll().
  int descriptor() const { return socket_.number(); }
  /// Whether something is left to be written.
  bool hasUnsent() const { return !outgoing_.empty(); }

  /// Begins to send.
  void send(int tag, std::shared_ptr<Transfer> message);
  /// Begins to receive.
  void receive(int tag, std::shared_ptr<Transfer> message);
  /// Calls a message back: its memory is not used any more.
  void drop(const std::shared_ptr<Transfer> &message);
  /// Sends a note.
  void sendNote(std::string text);

  /// Reads what has come, not for ever; appends notes to `notes`.
  void read(std::deque<std::string> &notes);
  /// Writes as much as the socket takes.
  void write();
  /// Says that nothing more is sent.
  void end();

private:
  enum class Kind : int32_t { Note, Data, Ask, Go };
  struct Head {
    Kind kind;
    int32_t tag;
    int64_t bytes;
  };
  /// A frame that is written.
  struct Outgoing {
    Head head;
    std::shared_ptr<Transfer> message; ///< Or null, and its own bytes.
    std::string own;
    size_t written = 0; ///< Of the head and what follows.

    const std::byte *body() const;
    size_t size() const { return sizeof(Head) + size_t(head.bytes); }
  };
  /// What has come before it was wanted.
  struct Early {
    bool isAsked = false; ///< Its bytes have not come.
    std::string bytes;
  };

  void put(Head head, std::shared_ptr<Transfer> message, std::string own = {});
  bool consume(std::deque<std::string> &notes);
  bool begin(const Head &head);
  bool beginData(const Head &head);
  void take(const std::byte *bytes, size_t count);
  void finish(std::deque<std::string> &notes);
  void grant(int tag, std::shared_ptr<Transfer> message);
  void close();

  Descriptor socket_;
  std::deque<Outgoing> outgoing_;
  ByTag<std::shared_ptr<Transfer>> asked_;   ///< Wait for `go`.
  ByTag<std::shared_ptr<Transfer>> wanted_;  ///< Nothing of them has come.
  ByTag<std::shared_ptr<Transfer>> granted_; ///< The other end has `go`.
  ByTag<Early> early_;

  std::vector<std::byte> staged_; ///< Read, and not looked at yet:
  size_t stagedBegin_ = 0, stagedEnd_ = 0;
  bool isInFrame_ = false; ///< The head has come, and not all that follows.
  Head head_{};
  size_t missing_ = 0;                 ///< Of what follows.
  std::shared_ptr<Transfer> incoming_; ///< Where it goes; null: to own_.
  std::string own_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_SOCKETS_SOCKETPEER_H
