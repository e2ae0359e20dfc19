//===- Server.h - The compiler's end of the channel -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// divisi/C/Channel.h has the messages. A thread takes them all the time: so a
// request is cancelled while it is worked on, and the process ends when its
// host has closed the channel or is no more.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SERVER_H
#define DIVISI_LIB_DRIVER_SERVER_H

#include "Console.h"
#include "divisi/C/Channel.h"
#include "divisi/Search/Solvers.h"
#include "divisi/Support/Thread.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>

namespace divisi {

/// See the file's head. It lives as long as the process.
class Server {
public:
  /// At the descriptor that the process has inherited. Fails with Usage if that
  /// is no channel.
  static Expected<Server *> start();

  /// Waits for the next request. Before it, that of number 0 is worked on.
  const Frame &next();
  /// Ends the work on a request, whose answer is a text, or nothing. One that
  /// was cancelled and has found no plan has the code of Cancelled.
  void answer(const Expected<std::string> &text);

  /// While `isFinding`, cancelling interrupts a search for a plan; else it ends
  /// the process.
  void setFinding(bool isFinding);
  /// A phase begins that was told; `begin` is who else is told. `isSearch`: in
  /// it a plan is searched.
  void beginPhase(llvm::StringRef phase, bool isSearch,
                  llvm::function_ref<void()> begin);
  /// The search has come so far.
  void tellSearch(const search::Progress &news);
  /// What the user is told.
  void tell(llvm::StringRef message);

private:
  Server();
  void receive();
  void take(Frame message);
  void cancel(uint64_t number);
  void send(std::initializer_list<std::string_view> texts);

  const pid_t host_;
  Thread receiver_;
  Frame request_;                              ///< That is worked on.
  std::string phase_;                          ///< Told last.
  double best_ = -1, bound_ = -1, toldAt_ = 0; ///< The same of the search.

  std::mutex mutex_; ///< Of what follows.
  std::condition_variable arrived_;
  std::optional<Frame> waiting_;
  std::optional<uint64_t> number_ = 0; ///< Of the request that is worked on.
  bool isFinding_ = false, isSearching_ = false, isCancelled_ = false;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SERVER_H
