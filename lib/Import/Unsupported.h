//===- Unsupported.h - All that a model needs and Divisi lacks --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_UNSUPPORTED_H
#define DIVISI_LIB_IMPORT_UNSUPPORTED_H

#include "divisi/Support/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace divisi {

/// One place of a model that Divisi does not do.
struct UnsupportedPlace {
  std::string kind;     ///< `Loop`, `input`: what places are grouped by.
  std::string name;     ///< Of the node, input or initializer.
  std::string reason;   ///< `the operator 'Loop' has no importer yet`
  std::string sentence; ///< Place and reason, for a message of this one alone.
};

/// Collects places, so that a user is told of all at once.
class UnsupportedList {
public:
  /// Places of one kind are one group if their reasons differ in names alone.
  void add(UnsupportedPlace place);
  /// Whether there are none.
  bool empty() const { return groups_.empty(); }
  /// ExitCode::Unsupported: the sentence of a single place, else a line a
  /// group, with its number of places and the first, in the order of `add`.
  Status status() const;

private:
  struct Group {
    UnsupportedPlace first;
    std::string key;
    int64_t count = 0;
  };
  std::vector<Group> groups_;
};

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_UNSUPPORTED_H
