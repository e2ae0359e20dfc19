//===- MessageStep.h - One rank's share, by messages ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has one phase or two. In each a rank sends and receives some messages;
// when all have ended it works on what has come, and goes on to the next.
//
//   moves           send own pieces | put what came where it belongs
//   reduce-scatter  send each its part | combine own part
//   all-reduce      send each its chunk | combine own chunk, send it to all
//
// In the last every element is combined by one rank and 2 (n - 1) / n of the
// bytes are sent by each, as in a ring.
//
// A step is driven by its rank where that polls or waits, and by the thread of
// the world (MessageWorld.h) while it computes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MESSAGES_MESSAGESTEP_H
#define DIVISI_RUNTIME_COMM_MESSAGES_MESSAGESTEP_H

#include "runtime/comm/messages/MessageCommunicator.h"

#include <atomic>
#include <optional>

namespace divisi::rt {

/// What the steps of all kinds have in common.
class MessageStep : public CommStep {
public:
  /// `processOf` says whose each party is.
  MessageStep(int64_t workspaceBytes, MessageWorld &world,
              std::shared_ptr<Link> link, const StepDesc &step, size_t self,
              std::vector<int> processOf);
  ~MessageStep() override;

  /// Offers its tags to those who send; under the wire's lock.
  Status announce();
  int64_t workspaceBytes() const final { return workspaceBytes_; }
  void setWorkspace(std::byte *memory) final { memory_ = memory; }
  Status start(const void *source, void *result) final;
  Expected<bool> poll() final;

  /// Goes on as far as others let it, unless somebody else is at it. Returns
  /// whether poll() has something to say: that it is done, or fails.
  bool drive();
  /// The same for who holds the wire's lock, which it may let go of meanwhile.
  /// A failure has to abort the link.
  Status driveUnder(std::unique_lock<std::mutex> &lock);
  /// Has waited too long: asks those for whom it waits whom they wait for.
  Status inquire();
  /// Whether all of these have answered.
  bool isAnswered();
  /// Aborts, and names who has not come, by what is known now.
  void giveUp(std::chrono::milliseconds timeout);
  /// For whom it waits, as ranks, ascending; under the wire's lock.
  std::vector<uint32_t> awaitedRanks() const;
  /// Whether its rank does nothing but wait for it, and perhaps for others.
  bool isWaitedFor() const { return isWaitedFor_; }
  void setWaitedFor(bool isWaitedFor) { isWaitedFor_ = isWaitedFor; }

protected:
  /// Sends and receives for phase `phase_`; under the wire's lock.
  virtual Status begin() = 0;
  /// What follows when all of it has ended; without the lock. Returns whether
  /// one more follows.
  virtual bool work() = 0;
  /// The parties that may send to it.
  virtual std::vector<size_t> senders() const = 0;
  /// Whether others rely on it by now: in a vote, on what it has voted or, if
  /// it counts, on the result. It may then not fail before it is sure that the
  /// others do.
  virtual bool isBound() const { return false; }

  void send(size_t party, const std::byte *data, int64_t bytes);
  Status receive(size_t party, std::byte *data, int64_t bytes);
  /// Whether all that it sends in this phase is on its way.
  bool hasSent() const { return unsent_.empty(); }

  const StepDesc step_;
  const size_t self_;
  const int64_t width_;
  const std::byte *source_ = nullptr;
  std::byte *result_ = nullptr, *memory_ = nullptr;
  int phase_ = 0;

private:
  struct Message {
    size_t party;
    const std::byte *data;
    int64_t bytes;
  };
  ShareKey keyOf(size_t party) const;
  std::vector<size_t> awaitedParties() const;
  Status beginPhase();
  Status sendUnsent();
  Status goOn();
  bool mustFail();
  void end(std::unique_lock<std::mutex> &lock);
  void leave();
  void noteSize(size_t party, int64_t bytes);

  MessageWorld &world_;
  std::shared_ptr<Link> link_;
  std::vector<int> processOf_;
  int64_t workspaceBytes_;
  uint64_t hash_;
  int firstTag_ = 0;
  std::vector<int> tagsOf_;     ///< By party, once it has offered; else -1.
  std::vector<Message> unsent_; ///< For want of an offer.
  std::unique_ptr<Requests> requests_;
  bool isLarge_ = false;   ///< It has messages that the driver looks after.
  bool isWorking_ = false; ///< Somebody is in work().
  bool isDone_ = false;    ///< The result is there.
  bool isBroken_ = false;  ///< A phase could not begin.
  std::atomic<bool> isWaitedFor_ = false;
  /// When it fails though it is bound; set when it is first seen as aborted.
  std::optional<std::chrono::steady_clock::time_point> failsAt_;
};

/// The step's kind decides; it has been checked.
std::unique_ptr<MessageStep> makeMessageStep(MessageWorld &world,
                                             std::shared_ptr<Link> link,
                                             const StepDesc &step, size_t self,
                                             std::vector<int> processOf);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MESSAGES_MESSAGESTEP_H
