//===- Interrupts.h - Signals that do not end at once -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_INTERRUPTS_H
#define DIVISI_SUPPORT_INTERRUPTS_H

#include <atomic>
#include <csignal>

namespace divisi {

/// While one lives, the first SIGINT or SIGTERM sets a flag instead of ending
/// the process; the next one ends it. At most one may live.
class Interrupts {
public:
  /// Takes over both signals.
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;

  /// True from the first signal on, until the next one of this class is made.
  static const std::atomic<bool> &raised();

  /// Does what a first signal does, while one of this class lives.
  static void raise();

  /// Ends the process by the signal that has set the flag, if any has: for who
  /// had to tidy up first. None of this class lives.
  static void endIfRaised();

private:
  struct sigaction oldInterrupt{}, oldTerminate{};
};

} // namespace divisi

#endif // DIVISI_SUPPORT_INTERRUPTS_H
