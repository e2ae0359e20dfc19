//===- RunSequence.h - Runs one after the other -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `run --sequence` takes inputs with one more dim in front, whose indices are
// runs, and stacks outputs alike. What a run leaves in states, the next one
// finds: the tokens of a decoder, say, whose caches are states (--state).
//
//   tokens  i64[12, 2]       run i takes tokens[i]: i64[2]
//   scale   f32[]            every run takes it
//   y       f32[12, 2, 64]   run i gave y[i]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_RUNSEQUENCE_H
#define DIVISI_LIB_DRIVER_RUNSEQUENCE_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/core/Session.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace divisi {

/// The inputs of several runs, and what these gave.
class RunSequence {
public:
  /// Of the inputs of one run alone.
  static RunSequence single(std::vector<rt::HostTensor> inputs);
  /// Reads --inputs. Fails as readInputs, and with Invalid where no tensor has
  /// a dim more than `entry` takes, or two have different numbers of runs.
  static Expected<RunSequence> read(llvm::ArrayRef<std::string> arguments,
                                    const rt::EntryInfo &entry);

  /// How many runs there are.
  int64_t size() const { return size_; }
  /// What `read` or `single` got.
  const std::vector<rt::HostTensor> &tensors() const { return tensors_; }
  /// Those of run `i`, until it is called again.
  Expected<std::vector<rt::HostTensor>> inputs(int64_t i) const;
  /// Keeps what run `i` gave. Fails with Device where memory runs out.
  Status add(int64_t i, std::vector<rt::HostTensor> outputs);
  /// All that was added.
  std::vector<rt::HostTensor> takeOutputs() { return std::move(outputs_); }

private:
  bool isSequence_ = false;
  int64_t size_ = 1;
  std::vector<rt::HostTensor> tensors_, outputs_;
  std::vector<bool> isStacked_; ///< By input.
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_RUNSEQUENCE_H
