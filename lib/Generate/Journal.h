//===- Journal.h - Decisions of a run, on file ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_JOURNAL_H
#define DIVISI_LIB_GENERATE_JOURNAL_H

#include "divisi/Support/Status.h"

#include <map>
#include <optional>
#include <string>

namespace divisi::rewrite {

/// What became of an equation.
enum class Decision : char {
  Unsaid = 'u',  ///< Rules have no words for it.
  Derived = 'd', ///< The prover derives it from those kept before.
  Refused = 'r', ///< By a gate.
  Kept = 'k',
};

/// Decisions by equation, in a file in their order, so that a generator that
/// was stopped need not decide again.
class Journal {
public:
  /// Of `path`, which is read if it is there; empty: of no file. `head` says
  /// what is generated. Fails with Invalid if the file is not of that.
  static Expected<Journal> open(const std::string &path,
                                const std::string &head);

  /// What was decided of that equation.
  std::optional<Decision> find(const std::string &equation) const;
  /// Notes a decision; it is in the file after save().
  void note(const std::string &equation, Decision decision);
  /// Writes the file. Fails with File.
  Status save();

private:
  std::string path_;
  std::string text_; ///< What is to be in the file.
  std::map<std::string, Decision> decisions_;
  bool isChanged_ = false;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_JOURNAL_H
