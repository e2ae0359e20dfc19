//===- MpiWire.cpp - MPI, by one thread at a time -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiWire.h"

#include <algorithm>
#include <numeric>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

std::vector<size_t> MpiRequests::parties() const {
  std::vector<size_t> parties;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] != MPI_REQUEST_NULL) {
      parties.push_back(parties_[i]);
    }
  }
  return parties;
}

/// What MPI says, which is all that is known.
static Status check(int code) {
  if (code == MPI_SUCCESS) {
    return {};
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return makeError(ExitCode::Device, "MPI failed: ", text);
}

/// Which processes of `all` those of `some` are.
static std::vector<int> numbersOf(MPI_Comm some, MPI_Comm all) {
  MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
  int count = 0;
  MPI_Comm_size(some, &count);
  MPI_Comm_group(some, &from);
  MPI_Comm_group(all, &to);
  std::vector<int> own(count), found(count);
  std::iota(own.begin(), own.end(), 0);
  MPI_Group_translate_ranks(from, count, own.data(), to, found.data());
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  return found;
}

Status MpiWire::open(MPI_Comm comm, bool ownsMpi) {
  ownsMpi_ = ownsMpi;
  MPI_Comm machine = MPI_COMM_NULL;
  int *maxTag = nullptr, hasMaxTag = 0;
  // Errors are returned: a library does not end the program.
  int code =
      ownsMpi ? MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) : MPI_SUCCESS;
  for (MPI_Comm *own : {&data_, &notes_}) {
    if (code == MPI_SUCCESS) {
      code = MPI_Comm_dup(comm, own);
    }
    if (code == MPI_SUCCESS) {
      code = MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
    }
  }
  if (code == MPI_SUCCESS) {
    code = MPI_Comm_split_type(data_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                               &machine);
  }
  if (Status status = check(code); !status.isOk()) {
    return status;
  }
  int self = 0, size = 1;
  MPI_Comm_rank(data_, &self);
  MPI_Comm_size(data_, &size);
  std::vector<bool> isNeighbour(size);
  for (int process : numbersOf(machine, data_)) {
    isNeighbour[process] = true;
  }
  MPI_Comm_free(&machine);
  MPI_Comm_get_attr(data_, MPI_TAG_UB, static_cast<void *>(&maxTag),
                    &hasMaxTag);
  // What every MPI has.
  setPlace(self, std::move(isNeighbour), hasMaxTag ? *maxTag : 32767);
  incoming_.resize(maxNote);
  return listen();
}

Status MpiWire::listen() {
  return check(MPI_Irecv(incoming_.data(), maxNote, MPI_BYTE, MPI_ANY_SOURCE, 0,
                         notes_, &listening_));
}

/// All are here when a barrier is over, so that MPI's own end waits for nobody.
Status MpiWire::close(std::chrono::milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  Status status;
  if (!isLeaving_) {
    isLeaving_ = true;
    status = check(MPI_Ibarrier(data_, &barrier_));
  }
  int isOver = 0;
  while (status.isOk() && !isOver) {
    status = check(MPI_Test(&barrier_, &isOver, MPI_STATUS_IGNORE));
    Expected<bool> areSent = areNotesSent();
    isOver = isOver && areSent && *areSent;
    if (!isOver && std::chrono::steady_clock::now() > deadline) {
      return makeError(ExitCode::Device, "the other processes did not end ",
                       timeout.count(),
                       " ms after this one; raise the timeout "
                       "if they are busy");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (!status.isOk()) {
    return status;
  }
  MPI_Cancel(&listening_);
  MPI_Request_free(&listening_);
  MPI_Comm_free(&data_);
  MPI_Comm_free(&notes_);
  return ownsMpi_ ? check(MPI_Finalize()) : Status();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Status MpiWire::add(int code, MPI_Request request, size_t party,
                    Requests &requests) {
  if (code == MPI_SUCCESS) {
    auto &own = static_cast<MpiRequests &>(requests);
    own.requests_.push_back(request);
    own.parties_.push_back(party);
    ++own.left_;
  }
  return check(code);
}

/// MPI counts in int: what is longer goes in several messages.
template <typename Begin> static Status inParts(int64_t bytes, Begin begin) {
  constexpr int64_t most = int64_t(1) << 30;
  Status status;
  for (int64_t offset = 0; status.isOk() && offset < bytes; offset += most) {
    status = begin(offset, static_cast<int>(std::min(most, bytes - offset)));
  }
  return status;
}

Status MpiWire::send(int process, int tag, const std::byte *data, int64_t bytes,
                     size_t party, Requests &requests) {
  return inParts(bytes, [&](int64_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(data + offset, count, MPI_BYTE, process, tag, data_,
                         &request);
    return add(code, request, party, requests);
  });
}

Status MpiWire::receive(int process, int tag, std::byte *data, int64_t bytes,
                        size_t party, Requests &requests) {
  return inParts(bytes, [&](int64_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Irecv(data + offset, count, MPI_BYTE, process, tag, data_,
                         &request);
    return add(code, request, party, requests);
  });
}

Status MpiWire::test(Requests &all) {
  auto &requests = static_cast<MpiRequests &>(all);
  if (requests.areDone()) {
    return {};
  }
  int count = static_cast<int>(requests.requests_.size()), ended = 0;
  requests.indices_.resize(requests.requests_.size());
  Status status =
      check(MPI_Testsome(count, requests.requests_.data(), &ended,
                         requests.indices_.data(), MPI_STATUSES_IGNORE));
  if (status.isOk() && ended != MPI_UNDEFINED) {
    requests.left_ -= static_cast<size_t>(ended);
  }
  if (requests.areDone()) {
    requests.requests_.clear();
    requests.parties_.clear();
  }
  return status;
}

void MpiWire::drop(Requests &all) {
  auto &requests = static_cast<MpiRequests &>(all);
  for (MPI_Request &request : requests.requests_) {
    if (request != MPI_REQUEST_NULL) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  requests = {};
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

Status MpiWire::sendNote(int process, std::string note) {
  Note &sent = sent_.emplace_back();
  sent.text = std::move(note);
  return check(MPI_Isend(sent.text.data(), static_cast<int>(sent.text.size()),
                         MPI_BYTE, process, 0, notes_, &sent.request));
}

Expected<bool> MpiWire::areNotesSent() {
  for (auto note = sent_.begin(); note != sent_.end();) {
    int isSent = 0;
    Status status = check(MPI_Test(&note->request, &isSent, MPI_STATUS_IGNORE));
    if (!status.isOk()) {
      return status;
    }
    note = isSent ? sent_.erase(note) : std::next(note);
  }
  return sent_.empty();
}

Expected<std::string> MpiWire::takeNote() {
  if (Expected<bool> areSent = areNotesSent(); !areSent) {
    return areSent.status();
  }
  int hasCome = 0, bytes = 0;
  MPI_Status came;
  Status status = check(MPI_Test(&listening_, &hasCome, &came));
  if (!status.isOk() || !hasCome) {
    return status.isOk() ? Expected<std::string>(std::string()) : status;
  }
  MPI_Get_count(&came, MPI_BYTE, &bytes);
  std::string note = incoming_.substr(0, static_cast<size_t>(bytes));
  status = listen();
  return status.isOk() ? Expected<std::string>(note) : status;
}
