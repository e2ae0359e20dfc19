//===- Limits.h - Limits of a search, as callers give them ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_LIMITS_H
#define DIVISI_SEARCH_LIMITS_H

#include "divisi/Support/Status.h"

#include <cstdint>
#include <optional>

namespace divisi::search {

/// The limits that a caller gave: --time-limit and --work-limit.
struct GivenLimits {
  std::optional<double> seconds; ///< Above 0.
  std::optional<int64_t> work;   ///< Matrix entries, as Options::work.

  /// ExitCode::Usage for a limit that is none.
  Status check() const;
  /// The budget of work, `byDefault` where nothing is given: without end if
  /// time alone is limited.
  int64_t workOr(int64_t byDefault) const;
};

} // namespace divisi::search

#endif // DIVISI_SEARCH_LIMITS_H
