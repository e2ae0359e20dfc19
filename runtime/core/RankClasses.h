//===- RankClasses.h - Ranks that hold as much ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program of a rank holds depends on the program and on what it is told
// where it asks about the rank's boxes: what kernels say of its calls, how many
// bytes its steps want, how many its inputs. A program that repeats itself asks
// the same again, so that there are few questions, and ranks that get the same
// answers hold as much:
//
//   rank   matmul        all_gather over model    input
//   0      scratch 64    256                      0        counted
//   1      scratch 64    256                      0        as rank 0
//   2      scratch 64    128                      0        counted: uneven
//
// Nothing is assumed of boxes: those that differ but answer alike are alike.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKCLASSES_H
#define DIVISI_RUNTIME_CORE_RANKCLASSES_H

#include "runtime/core/RankProgramBuilder.h"

#include <deque>

namespace divisi::rt {

/// Counts the memory of programs once for all ranks that it is the same for.
class RankClasses {
public:
  /// Kernels are asked of `backends`, and have `threads` threads. The manifest
  /// and the backends must outlive it.
  RankClasses(const ResolvedManifest &resolved,
              std::span<const Backend *const> backends, int threads)
      : resolved_(resolved), backends_(backends), threads_(threads),
        ballots_(resolved.entries.size()), counts_(resolved.entries.size()) {}

  /// What RankProgram::predict says of the program that `rank` has of entry
  /// `entry`; it must have one. Lives as long as this object. Fails as that
  /// does, with the first rank of the class that was asked for.
  Expected<const ProgramMemory *> memoryOf(size_t entry, uint32_t rank);

private:
  using Builder = RankProgramBuilder;
  /// All that kernels say of a call, and what else of boxes decides which of
  /// them is taken.
  struct CallAnswer {
    std::vector<Builder::Answer> answers; ///< By backend.
    std::vector<bool> emptyOperands;
    friend bool operator==(const CallAnswer &, const CallAnswer &) = default;
  };
  /// What equal calls of a program ask.
  struct CallQuestion {
    const artifact::Call *call = nullptr; ///< The first of them.
    /// All that the rank's boxes are of.
    std::vector<const Placement *> tensors;
    /// By the numbers of these boxes: the number of the answer.
    std::map<std::vector<uint32_t>, int64_t> known;
    std::vector<CallAnswer> answers; ///< Those that differ, by number.
  };
  /// Of a step the bytes of its memory, by rank; `unknown` until they are.
  using StepBytes = std::vector<int64_t>;
  static constexpr int64_t unknown = -1;
  struct StepQuestion {
    int instruction = 0; ///< The first with such a step.
    StepBytes *bytes = nullptr;
  };
  /// Of one program.
  struct Questions {
    std::vector<CallQuestion> calls;
    std::vector<StepQuestion> steps;
    std::vector<const Placement *> inputs; ///< None of a body's.
    std::vector<const artifact::Loop *> loops;
    /// By all answers: the number of the class.
    std::map<std::vector<int64_t>, size_t> classes;
    /// Of each class, once it was counted; `deque` keeps addresses.
    std::deque<std::optional<ProgramMemory>> memory;
  };

  Questions &questionsOf(size_t entry, const Builder &builder);
  size_t classOf(size_t entry, uint32_t rank);
  int64_t answerTo(CallQuestion &question, Builder &builder);
  int64_t answerTo(StepQuestion &question, const Builder &builder);
  int64_t ballotOf(std::vector<StepBytes> &known, size_t entry, DType type,
                   ReduceKind reduce, int64_t count, const Builder &builder);
  const std::vector<uint32_t> &boxNumbersOf(const Placement *placement);
  RankContext contextOf(size_t entry, uint32_t rank) const {
    return {resolved_, entry,   rank,      nullptr,
            nullptr,   nullptr, backends_, threads_};
  }

  const ResolvedManifest &resolved_;
  std::span<const Backend *const> backends_;
  int threads_;
  std::map<const ResolvedProgram *, Questions> questions_;
  std::map<Builder::StepKey, StepBytes> steps_; ///< Of all programs.
  /// By entry: of the vote of its ranks, and of their agreement on how often a
  /// body runs.
  std::vector<StepBytes> ballots_, counts_;
  /// By position: equal boxes have one number.
  std::map<const Placement *, std::vector<uint32_t>> boxNumbers_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKCLASSES_H
