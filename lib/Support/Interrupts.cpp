//===- Interrupts.cpp - Signals that do not end at once -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Interrupts.h"

using namespace divisi;

/// A handler of signals has no other way to say anything.
static std::atomic<bool> interruptRaised{false};
static std::atomic<int> signalRaised{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" {
static void onInterrupt(int signal) {
  signalRaised = signal;
  if (interruptRaised.exchange(true)) {
    // Blocked while its handler runs, it arrives when this returns.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}
}

Interrupts::Interrupts() {
  interruptRaised = false;
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  // What is being read or written goes on.
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &oldInterrupt);
  sigaction(SIGTERM, &action, &oldTerminate);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &oldInterrupt, nullptr);
  sigaction(SIGTERM, &oldTerminate, nullptr);
}

const std::atomic<bool> &Interrupts::raised() { return interruptRaised; }

void Interrupts::raise() {
  signalRaised = SIGINT;
  interruptRaised = true;
}

void Interrupts::endIfRaised() {
  if (interruptRaised) {
    std::signal(signalRaised, SIG_DFL);
    std::raise(signalRaised);
  }
}
