//===- MpiWire.h - MPI, by one thread at a time -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of MPI that is used. MPI is asked for no more than calls by one
// thread at a time, which all versions of it do well.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MPI_MPIWIRE_H
#define DIVISI_RUNTIME_COMM_MPI_MPIWIRE_H

#include "runtime/comm/messages/Wire.h"

#include <list>
#include <mpi.h>

namespace divisi::rt {

/// See Wire.h.
class MpiRequests : public Requests {
public:
  bool areDone() const override { return left_ == 0; }
  std::vector<size_t> parties() const override;

private:
  friend class MpiWire;
  std::vector<MPI_Request> requests_;
  std::vector<size_t> parties_;
  std::vector<int> indices_; ///< Of MPI_Testsome.
  size_t left_ = 0;
};

/// See the file's head.
class MpiWire : public Wire {
public:
  /// After MPI_Init: between the processes of `comm`. Whether MPI ends with
  /// this object, or is the caller's.
  Status open(MPI_Comm comm, bool ownsMpi);

  std::unique_ptr<Requests> makeRequests() const override {
    return std::make_unique<MpiRequests>();
  }
  Status send(int process, int tag, const std::byte *data, int64_t bytes,
              size_t party, Requests &requests) override;
  Status receive(int process, int tag, std::byte *data, int64_t bytes,
                 size_t party, Requests &requests) override;
  Status test(Requests &requests) override;
  void drop(Requests &requests) override;
  Status sendNote(int process, std::string note) override;
  Expected<std::string> takeNote() override;
  /// Waits until all processes are here, then ends MPI.
  Status close(std::chrono::milliseconds timeout) override;

private:
  Status add(int code, MPI_Request request, size_t party, Requests &requests);
  Status listen();
  Expected<bool> areNotesSent();

  struct Note {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  MPI_Comm data_ = MPI_COMM_NULL, notes_ = MPI_COMM_NULL;
  std::list<Note> sent_; ///< Until MPI has taken them.
  std::string incoming_;
  MPI_Request listening_ = MPI_REQUEST_NULL, barrier_ = MPI_REQUEST_NULL;
  bool ownsMpi_ = true;    ///< Whether close() ends MPI.
  bool isLeaving_ = false; ///< The barrier at the end has begun.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MPI_MPIWIRE_H
