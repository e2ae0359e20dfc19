//===- ProgressLine.cpp - One line that says how far it is ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"

#include "Console.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

/// Seconds between two texts: on a terminal, where the line is rewritten, and
/// elsewhere.
static constexpr double kRewritePause = 0.1;
static constexpr double kLinePause = 1;

ProgressLine::ProgressLine(Elsewhere elsewhere, bool quiet)
    : quiet_(quiet), onTerminal_(sys::Process::StandardErrIsDisplayed()) {
  quiet_ |= elsewhere == Elsewhere::Nothing && !onTerminal_;
}

void ProgressLine::print(const std::string &text, double seconds) {
  errs() << (onTerminal_ ? "\r\033[K" : "");
  textErr() << text << (onTerminal_ ? "" : "\n");
  printedAt_ = seconds;
  waiting_.reset();
}

void ProgressLine::show(double seconds, std::string text, bool atOnce) {
  if (quiet_) {
    return;
  }
  double pause = onTerminal_ ? kRewritePause : kLinePause;
  if (atOnce || printedAt_ < 0 || seconds - printedAt_ >= pause) {
    print(text, seconds);
  } else {
    waiting_ = std::move(text);
    waitingSince_ = seconds;
  }
}

void ProgressLine::end() {
  if (waiting_) {
    print(*waiting_, waitingSince_);
  }
  if (!quiet_ && onTerminal_ && printedAt_ >= 0) {
    errs() << "\n";
  }
  printedAt_ = -1;
}

void ProgressLine::clear() {
  if (!quiet_ && onTerminal_ && printedAt_ >= 0) {
    errs() << "\r\033[K";
  }
  waiting_.reset();
  printedAt_ = -1;
}
