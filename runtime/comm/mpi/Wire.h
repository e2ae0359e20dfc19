//===- Wire.h - MPI, by one thread at a time --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of MPI that is used: messages between two processes that do not
// block, and notes, which are short, come unasked and in order. MPI is asked
// for no more than calls by one thread at a time, which all versions of it do
// well: who calls holds the lock.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MPI_WIRE_H
#define DIVISI_RUNTIME_COMM_MPI_WIRE_H

#include "divisi/Support/Status.h"

#include <chrono>
#include <cstddef>
#include <list>
#include <mpi.h>
#include <mutex>
#include <string>
#include <vector>

namespace divisi::rt {

/// Messages of one step in flight.
class Requests {
public:
  /// Whether none is left.
  bool areDone() const { return left_ == 0; }
  /// The parties whose messages are left, as they were added, ascending.
  std::vector<size_t> parties() const;

private:
  friend class Wire;
  std::vector<MPI_Request> requests_;
  std::vector<size_t> parties_;
  std::vector<int> indices_; ///< Of MPI_Testsome.
  size_t left_ = 0;
};

/// See the file's head.
class Wire {
public:
  /// The longest note: what any transport takes without asking the receiver.
  static constexpr size_t maxNote = 4000;

  /// After MPI_Init: between the processes of `comm`. Whether MPI ends with
  /// this object, or is the caller's.
  Status open(MPI_Comm comm, bool ownsMpi);
  /// Waits until all processes are here, then ends MPI. After a time-out it may
  /// be called again.
  Status close(std::chrono::milliseconds timeout);

  /// The number of this process, and of all of them.
  int self() const { return self_; }
  /// How many processes there are.
  int size() const { return size_; }
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

  /// Begins to send or receive for `party`. Messages from one process to
  /// another with the same tag come in the order in which they are sent.
  Status send(int process, int tag, const void *data, int64_t bytes,
              size_t party, Requests &requests);
  /// The same of a message from `process`.
  Status receive(int process, int tag, void *data, int64_t bytes, size_t party,
                 Requests &requests);
  /// Looks which have ended.
  Status test(Requests &requests);
  /// Forgets them: what they receive into may be written until MPI ends.
  void drop(Requests &requests);

  /// Sends a note, of at most maxNote bytes.
  Status sendNote(int process, std::string note);
  /// The next note that has come; empty: none.
  Expected<std::string> takeNote();

private:
  Status add(int code, MPI_Request request, size_t party, Requests &requests);
  Status listen();
  Expected<bool> areNotesSent();

  struct Note {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  std::mutex mutex_;
  MPI_Comm data_ = MPI_COMM_NULL, notes_ = MPI_COMM_NULL;
  int self_ = 0, size_ = 1, maxTag_ = 0, neighbours_ = 1, machine_ = 0;
  std::vector<bool> isNeighbour_; ///< By process.
  std::list<Note> sent_;          ///< Until MPI has taken them.
  std::string incoming_;
  MPI_Request listening_ = MPI_REQUEST_NULL, barrier_ = MPI_REQUEST_NULL;
  bool ownsMpi_ = true;    ///< Whether close() ends MPI.
  bool isLeaving_ = false; ///< The barrier at the end has begun.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MPI_WIRE_H
