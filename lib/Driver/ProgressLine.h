//===- ProgressLine.h - One line that says how far it is --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_PROGRESSLINE_H
#define DIVISI_LIB_DRIVER_PROGRESSLINE_H

#include <optional>
#include <string>

namespace divisi {

/// On a terminal a line that is rewritten; elsewhere lines, or nothing. News
/// that come too soon after the last wait for later ones or the end.
class ProgressLine {
public:
  /// What is printed where stderr is no terminal.
  enum class Elsewhere { Lines, Nothing };
  /// Prints nothing anywhere if `quiet`.
  ProgressLine(Elsewhere elsewhere, bool quiet);

  /// Shows `text` of `seconds`, unless it comes too soon; `atOnce` never does.
  void show(double seconds, std::string text, bool atOnce = false);
  /// Shows what has waited. The line stays, and what follows begins below it.
  void end();
  /// Takes the line away on a terminal, for others to print.
  void clear();

private:
  void print(const std::string &text, double seconds);

  bool quiet_, onTerminal_;
  double printedAt_ = -1; ///< Seconds of the last text; -1: none.
  std::optional<std::string> waiting_;
  double waitingSince_ = 0;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_PROGRESSLINE_H
