//===- MessageWorld.h - Processes that send messages ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tag a message has is decided by who receives it: the tags of a wire (of
// MPI) are few, and those of a program, with entry, group and sender, are not.
// A rank that prepares a step takes as many tags as it may get messages, and
// offers them in a note to the processes of those who send; these send once
// they have the offer.
//
//   rank 0 (prepare) -- offer: step (0, 7, 0), my tags begin at 40 --> rank 1
//   rank 1 (start)   -- tag 40 + 2 * my place in the group + phase --> rank 0
//
// An offer says what the step is, too, so that who has another step there sends
// nothing. Other notes say that a communicator has been aborted, and ask who
// has been waited for too long whom he waits for himself: an element that is
// late at one rank may be late because of another.
//
// A wire moves messages in calls only. While ranks poll or wait they drive
// their steps. Where none has for a moment, and large messages are in flight, a
// thread of the world does: a rank that computes keeps nobody waiting.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MESSAGES_MESSAGEWORLD_H
#define DIVISI_RUNTIME_COMM_MESSAGES_MESSAGEWORLD_H

#include "divisi/Support/Thread.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "runtime/comm/AbortState.h"
#include "runtime/comm/messages/Wire.h"

#include <atomic>
#include <compare>
#include <condition_variable>
#include <map>

namespace divisi::rt {

/// The share of one rank in a step, on all processes.
struct ShareKey {
  uint32_t entry, tag, first, rank; ///< `first` is the first party's rank.
  friend auto operator<=>(const ShareKey &, const ShareKey &) = default;
};

/// Where a share takes messages.
struct Offer {
  ShareKey key;     ///< Of the share that waits.
  int32_t firstTag; ///< Of the tags that its messages have, one for each party.
  uint64_t step;    ///< A hash of its description.
};

class MessageStep;

/// What processes know of one communicator.
struct Link {
  /// Of the communicator `number`.
  explicit Link(uint32_t number) : number(number) {}

  const uint32_t number;    ///< The same on all processes.
  bool hasFreeCore = false; ///< While all ranks compute.
  AbortState aborts;        ///< Of its steps.

  // Under the wire's lock:
  std::map<ShareKey, Offer> offers;           ///< That have come.
  std::map<ShareKey, MessageStep *> inFlight; ///< The shares of this process.
  /// The ranks for which a share waits, of those that have answered.
  std::map<ShareKey, std::vector<uint32_t>> answers;
};

/// See the file's head.
class MessageWorld : public ProcessWorld {
public:
  /// Of the processes that `wire`, which is open, connects.
  explicit MessageWorld(std::unique_ptr<Wire> wire)
      : wire(*wire), wire_(std::move(wire)) {}
  ~MessageWorld() override { stopDriver(); }

  uint32_t self() const override { return static_cast<uint32_t>(wire.self()); }
  uint32_t size() const override { return static_cast<uint32_t>(wire.size()); }
  uint32_t machine() const override {
    return static_cast<uint32_t>(wire.machine());
  }
  std::shared_ptr<Communicator> connect(std::vector<uint32_t> processOf,
                                        std::chrono::milliseconds timeout,
                                        std::chrono::microseconds spin,
                                        size_t threads) override;
  Status finish(std::chrono::milliseconds timeout) override {
    stopDriver();
    return wire.close(timeout);
  }

  /// Ends the communicator here, with what can be sent everywhere.
  void abort(Link &link, const Status &reason);
  /// A rank drives its steps itself.
  void noteCall() { calls_.fetch_add(1, std::memory_order_relaxed); }

  // Under the wire's lock:

  /// As many tags for messages as wanted, the first of them.
  Expected<int> takeTags(size_t count);
  /// To `process`, before anything else is sent to it.
  void offer(const Link &link, int process, const Offer &offer);
  /// Asks `process` for whom a share of its waits; see Link::answers.
  Status inquire(Link &link, int process, const ShareKey &share);
  /// Sends offers, and reads notes that have come.
  Status progress();
  /// Whether it drives large messages to and from `process` while the ranks of
  /// the link compute. Between processes of one machine it is cores that move
  /// them: one that is taken from kernels for it is no gain.
  bool drives(const Link &link, int process) const {
    return link.hasFreeCore || !wire.isNeighbour(process);
  }
  /// A step with messages that it drives is in flight, or has left.
  void noteLargeStart();
  /// It has ended.
  void noteLargeEnd() { --largeSteps_; }

  Wire &wire; ///< What its messages go over.

private:
  Link &linkOf(uint32_t number);
  Status sendOffers();
  Status read(const std::string &note);
  Status answer(Link &link, int process, const ShareKey &share);
  void runDriver();
  void driveAll(std::unique_lock<std::mutex> &lock);
  void stopDriver();

  std::unique_ptr<Wire> wire_;
  uint32_t nextLink_ = 0;
  int64_t nextTag_ = 0;
  std::map<uint32_t, std::shared_ptr<Link>> links_; ///< By number.
  /// By process and number of the link: not sent yet.
  std::map<std::pair<int, uint32_t>, std::vector<Offer>> offers_;

  Thread driver_;
  std::condition_variable wakeUp_;
  std::atomic<uint64_t> calls_ = 0; ///< Of ranks that drive their steps.
  std::atomic<bool> isOver_ = false;
  // Under the wire's lock:
  size_t largeSteps_ = 0; ///< In flight.
  bool isAsleep_ = false; ///< The driver.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MESSAGES_MESSAGEWORLD_H
