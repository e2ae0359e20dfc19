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
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLCLIQUE_H
#define DIVISI_TEST_EMULATOR_NCCLCLIQUE_H

#include "test/emulator/Gpu.h"

#include <nccl.h>

namespace divisi::emulator {

enum class NcclKind { AllReduce, ReduceScatter, Reduce, AllGather, Send, Recv };
/// Its name in messages.
const char *nameOf(NcclKind kind);

/// A call, as one rank makes it.
struct NcclCall {
  NcclKind kind;
  uint64_t source = 0, result = 0; ///< Addresses; 0: none.
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0; ///< The root, or who is at the other end.
};

/// A call as all of its ranks make it.
struct NcclMeeting {
  /// By rank of the clique; of a message the two ends.
  std::map<int, NcclCall> calls;
  std::map<int, Clock> begun; ///< Where those streams were that have begun it.
  size_t expected = 0;        ///< How many ranks there are.
  bool isOver = false;
};

/// All communicators that were made together.
class NcclClique {
public:
  explicit NcclClique(int size) : size(size) {}

  const int size;
  std::map<int, int> devices;    ///< Of the ranks that have come.
  std::map<int, int> firstCalls; ///< Of the ranks that have made a collective.

  /// The meeting of a call that rank `self` makes now; what is wrong with the
  /// call beside those of others, if something is.
  std::optional<std::string> meet(int self, const NcclCall &call,
                                  std::shared_ptr<NcclMeeting> &meeting);

  /// One ncclCommSplit of all ranks: by rank the color and key.
  struct Split {
    std::map<int, std::pair<int, int>> wanted;
    std::map<int, std::shared_ptr<NcclClique>> made; ///< By color.
  };
  std::map<uint64_t, Split> splits;

private:
  /// Per rank, how many collectives; per sender, receiver and end, messages.
  std::map<int, uint64_t> collectives_;
  std::map<std::tuple<int, int, bool>, uint64_t> messages_;
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

  bool isAborted = false; ///< It ends, and does nothing.
  bool hangs = false;     ///< It never ends.
  bool isLost = false;    ///< It never begins.

private:
  int self_;
  std::shared_ptr<NcclGroup> before_; ///< On the communicator.
  std::vector<std::pair<NcclCall, std::shared_ptr<NcclMeeting>>> calls_;
  bool hasEnded_ = false;
};

/// How large elements are; 0 of what is not emulated.
size_t widthOf(ncclDataType_t type);
/// Whether elements can be combined so.
bool combines(ncclDataType_t type, ncclRedOp_t reduction);

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_NCCLCLIQUE_H
