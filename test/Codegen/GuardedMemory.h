//===- GuardedMemory.h - Memory with nothing around it ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code is run between pages that nobody may touch: whatever it does
// to a byte before or behind a tensor ends the process, by the very object that
// users run. A compiler's sanitizer would look at another one: it instruments
// before instructions are chosen, its calls are imports, which objects may not
// have, and it lets pass what jumps over its red zones.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_GUARDEDMEMORY_H
#define DIVISI_TEST_CODEGEN_GUARDEDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace divisi::test {

/// At which guard a tensor lies: the other side is watched by its bytes.
enum class Side : uint8_t { Begin, End };

/// Room for one tensor at a time.
class GuardedMemory {
public:
  /// For up to so many bytes.
  explicit GuardedMemory(int64_t capacity);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory &) = delete;

  /// `bytes` bytes of no meaning that begin, or end, at a guard: at its end
  /// they are aligned as their number is, and no better.
  std::byte *place(int64_t bytes, Side side);
  /// Lets nobody write it until it is placed again.
  void freeze();
  /// Whether nobody has written beside it, on the side without a guard.
  bool isIntact() const;

private:
  std::byte *base_ = nullptr; ///< Of the guard in front.
  std::byte *data_ = nullptr;
  int64_t capacity_, bytes_ = 0;
  bool isFrozen_ = false;
};

/// What is said where a guard is touched.
void noteForFaults(const std::string &text);

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_GUARDEDMEMORY_H
