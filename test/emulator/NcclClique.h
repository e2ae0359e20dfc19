//===- NcclClique.h - Who meets in emulated collectives ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks with communicators of one clique make calls in groups. A group is one
// piece of work on a stream: it begins when it is the stream's next and the
// group before it on the communicator has ended, and ends when all of its calls
// have met: a collective when the groups of all ranks have begun that have the
// call of the same number, a message when those of its two ends have.
//
// With a folder for NcclMail, ranks may be of several processes: then all that
// they tell each other goes by files there, also between ranks of one process,
// and each rank works out what it gets. What others of other processes had done
// before is not known then.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLCLIQUE_H
#define DIVISI_TEST_EMULATOR_NCCLCLIQUE_H

#include "test/emulator/Gpu.h"
#include "test/emulator/NcclExchange.h"
#include "test/emulator/NcclMail.h"

namespace divisi::emulator {

/// A call as all of its ranks make it.
struct NcclMeeting {
  /// By rank of the clique; of a message the two ends.
  std::map<int, NcclCall> calls;
  std::map<int, Clock> begun; ///< Where those streams were that have begun it.
  size_t expected = 0;        ///< How many ranks there are.
  bool isOver = false;
  /// By mail, where each rank has one of its own: its name there, and its
  /// ranks.
  std::string mailed = {};
  std::vector<int> ranks = {};
};

/// All communicators that were made together.
class NcclClique {
public:
  /// `name` is its own among those of all processes.
  NcclClique(std::string name, int size) : name(std::move(name)), size(size) {}

  const std::string name;
  const int size;
  /// Of the ranks of this process that have come.
  std::map<int, int> devices;

  /// What ranks say for all others to know.
  enum class Said : uint8_t { IsThere, MakesCollectives, Finalizes };
  void say(int self, Said what);
  /// Whether all have said it.
  bool haveAllSaid(Said what) const;

  /// The meeting of a call that rank `self` makes now; what is wrong with the
  /// call beside those of others, if something is.
  std::optional<std::string> meet(int self, const NcclCall &call,
                                  std::shared_ptr<NcclMeeting> &meeting);
  /// Whether rank `self` has made such a call, to the same end.
  bool hasMet(int self, const NcclCall &call) const {
    return made_.contains(endOf(self, call));
  }
  /// The number of a call that rank `self` records now, the same on all ranks
  /// that meet in it.
  uint64_t captureOf(int self, const NcclCall &call) {
    return ++captured_[endOf(self, call)];
  }

  /// Says which color and key rank `self` wants of the split of that number.
  void askFor(uint64_t split, int self, std::pair<int, int> wanted);
  /// Whether all have said what they want of it.
  bool haveAllAskedFor(uint64_t split);
  /// The clique of a color, and the number there of a rank with that color,
  /// once all have.
  std::shared_ptr<NcclClique> childOf(uint64_t split, int color);
  int rankInChild(uint64_t split, int self) const;

private:
  /// One ncclCommSplit of all ranks: by rank the color and key.
  struct Split {
    std::map<int, std::pair<int, int>> wanted;
    std::map<int, std::shared_ptr<NcclClique>> made; ///< By color.
  };

  /// Of a message sender, receiver, and whether it is sent; of collectives a
  /// rank.
  using End = std::tuple<int, int, bool>;
  static End endOf(int self, const NcclCall &call);

  std::shared_ptr<NcclMeeting>
  mailedMeeting(const std::tuple<int, int, uint64_t> &key) const;
  std::string nameOf(Said what, int self) const;
  std::string nameOf(uint64_t split, int self) const;

  std::map<uint64_t, Split> splits_;
  std::set<std::pair<Said, int>> said_;
  std::map<End, uint64_t> made_, captured_; ///< How many calls.
  std::map<std::tuple<int, int, uint64_t>, std::shared_ptr<NcclMeeting>>
      meetings_;
};

/// What one rank has put on a stream at once.
class NcclGroup final : public JointWork {
public:
  NcclGroup(int self, std::shared_ptr<NcclGroup> before)
      : self_(self), before_(std::move(before)) {}

  /// Adds a call that has met.
  void add(const NcclCall &call, std::shared_ptr<NcclMeeting> meeting);

  bool mayBegin() const override {
    return isAborted || (!isLost && (!before_ || before_->hasEnded_));
  }
  void begin(const Clock &clock) override;
  bool isOver() const override;
  void end(Touched &touched, Clock &learned) override;

  bool hasEnded() const { return hasEnded_; }

  bool isAborted = false; ///< It ends, and does nothing.
  bool hangs = false;     ///< It never ends.
  bool isLost = false;    ///< It never begins.

private:
  int self_;
  std::shared_ptr<NcclGroup> before_; ///< On the communicator.
  std::vector<std::pair<NcclCall, std::shared_ptr<NcclMeeting>>> calls_;
  bool hasEnded_ = false;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_NCCLCLIQUE_H
