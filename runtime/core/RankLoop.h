//===- RankLoop.h - One rank's loop, ready to run ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop has the body's program of its rank, prepared once. Of each carried
// value it has two places, which iterations read and write by turns, so that
// nothing that is read in an iteration is written in it, and the last ends in
// the result:
//
//   carried -> spare    spare -> result    result -> spare    spare -> result
//   (3 iterations)      iteration 0        1                  2
//
// Nothing else of the rank runs meanwhile: the list keeps all apart.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKLOOP_H
#define DIVISI_RUNTIME_CORE_RANKLOOP_H

#include "runtime/core/RankProgram.h"

namespace divisi::rt {

/// A loop and its body, of one rank.
struct RankLoop {
  std::unique_ptr<RankProgram> body; ///< Prepared for the rank.
  int64_t most = 0;                  ///< Iterations.
  /// In which all ranks of the body compare counts; null if there is one.
  std::unique_ptr<CommStep> agreement;
  std::vector<void *> spares;
  std::vector<BoxCopy> first;    ///< Of each carried value, to where it begins.
  std::vector<Device *> devices; ///< Which have these values.
  Device *device = nullptr; ///< Of these the one that has queues, if there is.
  std::unique_ptr<DeviceQueue> queue; ///< Its own, of the loop; else null.
  std::unique_ptr<DeviceEvent> copied;

  // Of a run.
  alignas(64) int64_t index = 0; ///< The body's input 0.
  /// The count and its complement, as the rank has them and the largest of
  /// all.
  alignas(64) int64_t own[2] = {};
  alignas(64) int64_t largest[2] = {};
  std::vector<const void *> inputs; ///< Of the body.
  std::vector<void *> outputs;      ///< Of the body.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKLOOP_H
