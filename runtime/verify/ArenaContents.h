//===- ArenaContents.h - Which buffer's value lies where --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows a program's writes, so that a read can be asked whether the value is
// still there:
//
//   write a at [0, 64)    a
//   write b at [32, 96)     b        a read of a now fails: b has cut into it
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_VERIFY_ARENACONTENTS_H
#define DIVISI_RUNTIME_VERIFY_ARENACONTENTS_H

#include "runtime/artifact/ResolvedManifest.h"

namespace divisi::rt {

/// See the file's head.
class ArenaContents {
public:
  /// Of `program`, which must outlive it, before its first instruction.
  explicit ArenaContents(const ResolvedProgram &program) : program_(program) {
    for (uint32_t b = 0; b < program.buffers.size(); ++b) {
      const auto &buffer = program.message->buffers(int(b));
      if ((buffer.has_global() || buffer.has_input()) && program.range(b)) {
        write(b); // what the global or input is at the beginning
      }
    }
  }

  /// Whether `buffer` has its whole value: written, and not written over since.
  /// Inputs and globals that the program does not write always have.
  bool has(uint32_t buffer) const {
    auto range = program_.range(buffer);
    if (!range || range->begin == range->end) {
      return true;
    }
    auto it = values_.upper_bound(range->begin);
    if (it == values_.begin()) {
      return false;
    }
    const auto &[begin, value] = *std::prev(it);
    const ResolvedBuffer &own = program_.buffers[buffer];
    return value.root == own.root && begin == range->begin - own.offset &&
           (own.isWhole ? value.end == range->end : value.end >= range->end);
  }

  /// `buffer`, which lies in the arena, gets a value.
  void write(uint32_t buffer) {
    ResolvedProgram::Range range = *program_.range(buffer);
    overwrite(range);
    if (range.begin != range.end) {
      values_[range.begin] = {range.end, program_.buffers[buffer].root};
    }
  }

  /// No value that touches `range` survives.
  void overwrite(ResolvedProgram::Range range) {
    if (range.begin == range.end) {
      return;
    }
    auto it = values_.lower_bound(range.begin);
    if (it != values_.begin() && std::prev(it)->second.end > range.begin) {
      --it;
    }
    while (it != values_.end() && it->first < range.end) {
      it = values_.erase(it);
    }
  }

private:
  struct Value {
    int64_t end;
    uint32_t root;
  };
  const ResolvedProgram &program_;
  std::map<int64_t, Value> values_; ///< By their beginning; disjoint.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_VERIFY_ARENACONTENTS_H
