//===- Spin.h - Waiting awake for a moment ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waking a sleeping thread takes as long as a small model. A thread with a core
// of its own spins for a moment before it sleeps; a thread without one sleeps
// at once: the thread that it waits for may need the core.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_SPIN_H
#define DIVISI_RUNTIME_COMM_SPIN_H

#include <chrono>

namespace divisi::rt {

/// How long who has a core to spare looks: what waking up takes.
inline constexpr std::chrono::microseconds spinLimit{50};

/// Asks `isOver` again and again, for at most `limit`; returns its last answer.
template <typename Question>
bool spinUntil(std::chrono::microseconds limit, Question isOver) {
  constexpr int questionsPerLook = 32; // at the clock
  auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < questionsPerLook; ++i) {
      if (isOver()) {
        return true;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_SPIN_H
