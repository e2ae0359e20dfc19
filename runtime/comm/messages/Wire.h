//===- Wire.h - Messages between processes ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What connects processes has to do no more than this: messages between two of
// them that do not block, and notes, which are short, come unasked and in
// order. Nothing moves but in calls, by one thread at a time: who calls holds
// the lock.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MESSAGES_WIRE_H
#define DIVISI_RUNTIME_COMM_MESSAGES_WIRE_H

#include "divisi/Support/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace divisi::rt {

/// Messages of one step in flight, of the wire that has made it.
class Requests {
public:
  virtual ~Requests() = default;
  /// Whether none is left.
  virtual bool areDone() const = 0;
  /// The party of each message that is left, in no order.
  virtual std::vector<size_t> parties() const = 0;
};

/// See the file's head.
class Wire {
public:
  /// The longest note: what any transport takes without asking the receiver.
  static constexpr size_t maxNote = 4000;

  virtual ~Wire() = default;

  /// The number of this process.
  int self() const { return self_; }
  /// How many processes there are.
  int size() const { return static_cast<int>(isNeighbour_.size()); }
  /// The largest tag of a message.
  int maxTag() const { return maxTag_; }
  /// How many processes share this machine.
  int neighbours() const { return neighbours_; }
  /// Whether `process` does.
  bool isNeighbour(int process) const { return isNeighbour_[process]; }
  /// The first of these.
  int machine() const { return machine_; }

  /// To be held over all that follows.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// For messages of one step; does not need the lock.
  virtual std::unique_ptr<Requests> makeRequests() const = 0;
  /// Begins to send for `party`. Messages from one process to another with the
  /// same tag come in the order in which they are sent. The data stays where it
  /// is until the request has ended, or was dropped.
  virtual Status send(int process, int tag, const std::byte *data,
                      int64_t bytes, size_t party, Requests &requests) = 0;
  /// The same of a message from `process`, as long as it was sent.
  virtual Status receive(int process, int tag, std::byte *data, int64_t bytes,
                         size_t party, Requests &requests) = 0;
  /// Looks which have ended.
  virtual Status test(Requests &requests) = 0;
  /// Forgets them. Where the wire cannot call them back, what they receive into
  /// may be written until it is closed.
  virtual void drop(Requests &requests) = 0;

  /// Sends a note, of at most maxNote bytes.
  virtual Status sendNote(int process, std::string note) = 0;
  /// The next note that has come; empty: none.
  virtual Expected<std::string> takeNote() = 0;

  /// Ends it: nothing of it may be used any more. What this process has sent
  /// reaches the others. After a time-out it may be called again.
  virtual Status close(std::chrono::milliseconds timeout) = 0;

protected:
  /// Says who this process is, and which processes share its machine, itself
  /// among them.
  void setPlace(int self, std::vector<bool> isNeighbour, int maxTag);

private:
  std::mutex mutex_;
  int self_ = 0, maxTag_ = 0, neighbours_ = 1, machine_ = 0;
  std::vector<bool> isNeighbour_; ///< By process.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MESSAGES_WIRE_H
