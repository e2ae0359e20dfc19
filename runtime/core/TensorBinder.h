//===- TensorBinder.h - The caller's tensors in a rank's tasks --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is used where it lies if the rank's box is there in one piece and
// aligned, else copied. How to copy is worked out when a layout comes for the
// first time, and kept for the runs after.
//
// An output is computed where the caller wants it if its box is there in one
// piece and aligned, and no input lies there, too: the caller's memory then
// takes the place of a buffer of the arena. Else it is copied from that. What
// is done as a graph has inputs and outputs that stay where they are: both are
// copied (GraphRecorder.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_TENSORBINDER_H
#define DIVISI_RUNTIME_CORE_TENSORBINDER_H

#include "divisi/runtime/core/TensorView.h"
#include "runtime/core/GraphRecorder.h"

namespace divisi::rt {

/// Where the address of a buffer stands in the tasks.
struct BufferMention {
  size_t task;    ///< Its index.
  bool isResult;  ///< Else an operand.
  size_t index;   ///< Among the results, or operands, of the task.
  int64_t offset; ///< What is added to it.
};

/// How the caller's memory is laid out.
struct ViewLayout {
  bool isWhole = true; ///< Has the tensor; else the rank's box.
  Dims strides = {};   ///< As in TensorView.

  friend bool operator==(const ViewLayout &, const ViewLayout &) = default;
  /// From the view to `box` without gaps.
  BoxCopy copyIn(const Placement &placement, const Box &box) const;
  /// A piece of `box`, which has no gaps, to the view.
  BoxCopy copyOut(const Placement &placement, const Box &box,
                  const Box &piece) const;
};

/// What the rank writes of an output.
struct OutputPatch {
  size_t task;                           ///< A copy.
  uint32_t output;                       ///< Of the entry.
  const Placement *placement;            ///< Of the output.
  Box box;                               ///< The rank's.
  std::vector<Box> pieces;               ///< Of the box, of a whole output.
  std::optional<ViewLayout> layout = {}; ///< That the task's copies are for.
  /// Of the buffer that it comes from: all, if the caller's memory can take
  /// its place; else none.
  std::vector<BufferMention> mentions = {};
  std::byte *arena = nullptr;   ///< Where that buffer lies.
  std::byte *present = nullptr; ///< What its mentions say.
};

/// See the file's head.
class TensorBinder {
public:
  /// Of a program whose rank is number `local` of the session's.
  TensorBinder(RankTasks &program, size_t local)
      : program_(program), local_(local) {}

  /// Whether addInput() has been called for it.
  bool hasInput(uint32_t input) const { return inputs_.contains(input); }
  /// What the rank takes of an input. How many bytes have to be staged where
  /// the whole tensor is given without gaps, by giveStaging().
  int64_t addInput(uint32_t input, const Placement &placement, const Box &box);
  /// How many that are of `box`, whatever the input's number.
  static int64_t stagedBytes(const Placement &placement, const Box &box);
  /// Memory for that.
  void giveStaging(uint32_t input, AlignedBytes staging) {
    inputs_.at(input).staging = std::move(staging);
  }
  /// Where the address of an input goes, or of a byte behind it.
  void addInputUse(uint32_t input, size_t task, size_t operand,
                   int64_t offset) {
    inputUses_.push_back({task, operand, input, offset});
  }
  /// Where the address of an input goes that result `result` of a task
  /// overwrites.
  void addNewInput(uint32_t input, size_t task, size_t result) {
    newInputs_.push_back({task, result, input, 0});
  }
  /// What a task writes of an output.
  void addOutput(OutputPatch output) { outputs_.push_back(std::move(output)); }
  /// All of these.
  std::span<OutputPatch> outputs() { return outputs_; }

  /// Sets the entry's inputs and outputs for the next run; `graph` is what does
  /// it, or null. Fails with Device where memory runs out.
  Status bind(std::span<const TensorArgument> inputs,
              std::span<const TensorArgument> outputs, GraphRecorder *graph);
  /// Sets those of a body for the next iteration.
  void bindIteration(std::span<const void *const> inputs,
                     std::span<void *const> outputs);
  /// What the last run does to the caller's outputs, in bytes.
  const OutputBytes &outputBytes() const { return outputBytes_; }

private:
  /// Where the address of an input goes.
  struct InputUse {
    size_t task, operand;
    uint32_t input;
    int64_t offset;
    /// What stands there if the input is at `address`.
    const void *from(const void *address) const {
      return address ? static_cast<const std::byte *>(address) + offset
                     : nullptr;
    }
  };
  /// What the rank takes of an input.
  struct InputSlice {
    const Placement *placement;
    Box box;
    ViewLayout layout; ///< That `copy` is for.
    BoxCopy copy;
    AlignedBytes staging; ///< Empty while it is used where it lies.
    const std::byte *address = nullptr; ///< Of the bound box.
  };
  /// Bytes of the caller's: addresses.
  struct CallerBytes {
    uintptr_t begin, end;
  };

  Status bindInput(InputSlice &slice, const TensorArgument &argument);
  void listInputs(std::span<const TensorArgument> inputs);
  std::byte *placeFor(const OutputPatch &patch, const TensorView &view) const;
  void bindOutput(OutputPatch &patch, const TensorArgument &argument,
                  bool isRecorded);

  RankTasks &program_;
  size_t local_;
  std::map<uint32_t, InputSlice> inputs_;
  std::vector<InputUse> inputUses_;
  /// Of a body: results, instead of operands.
  std::vector<InputUse> newInputs_;
  std::vector<OutputPatch> outputs_;
  std::vector<CallerBytes> inputBytes_; ///< Of all inputs of the run.
  OutputBytes outputBytes_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_TENSORBINDER_H
