//===- SolutionIO.h - Solutions as JSON -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `divisi solve -o` writes and `divisi solve --check` reads:
//
//   {"schema_version": 1, "problem": "A", "solver": "auto", "seed": 0,
//    "stopped": "work", "assignment": [0, 3, 1], "cost": 6548553652,
//    "peak": 1023, "peak_time": 12, "lower_bound": 6540000000,
//    "gap": 0.0013, "gap_of": "the declared strategies",
//    "trace": [{"seconds": 0.9, "work": 1000000, "cost": 7000000000,
//               "lower_bound": 6000000000, "by": "rounding"}],
//    "certificate": {"price_bits": 40, "potential_bits": 0, "cutoff": 654855,
//      "steps": [["drop", 5, 2, 7], ["follow", 5, 8]],
//      "tree": [{"parent": -1, "prices": [[12, 55]], "potentials": "…"}]}}
//
// Integers are exact, whatever their size; a reader that keeps doubles would
// lose them. Potentials are base64 of zigzag LEB128 differences to the nearest
// ancestor that bounds, since they differ little from it; a node has the key if
// it bounds. Other nodes of the tree than the root have "variable" and "kept",
// and one that fixes has "fixes": true. A price of a further resource is [time,
// price, resource], and their peaks are "more_peaks": [[usage, time]].
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_SOLUTIONIO_H
#define DIVISI_SEARCH_SOLUTIONIO_H

#include "divisi/Search/Problem.h"
#include "divisi/Support/Status.h"

namespace divisi::search {

/// One improvement of the answer or of the bound. Seconds are left out where
/// runs must give equal bytes.
struct TraceEntry {
  std::optional<double> seconds;        ///< Since the start of the program.
  int64_t work = 0;                     ///< Matrix entries looked at by then.
  std::optional<Wide> cost, lowerBound; ///< Known by then.
  std::string by;                       ///< The ingredient that found it.
  friend bool operator==(const TraceEntry &, const TraceEntry &) = default;
};

/// What a file of a solution says.
struct SolutionFile {
  Solution solution;   ///< With its certificate.
  std::string problem; ///< Its name.
  std::string solver;  ///< Its name.
  /// "finished", "work", "time", "interrupted", or "running".
  std::string stopped;
  uint64_t seed = 0;             ///< Options::seed.
  std::vector<TraceEntry> trace; ///< How the solver came on, earliest first.
};

/// The file as JSON.
std::string writeSolution(const SolutionFile &file);

/// Writes the file so that at every moment `path` holds either what it held
/// before or all of the new content, even if the process is killed. It is gzip
/// if `path` ends in .gz. Fails with File.
divisi::Status writeSolutionFile(const std::string &path,
                                 const SolutionFile &file);

/// Reads JSON, or gzip of it. Fails with Invalid, naming where, if it is no
/// solution, and with Version if its schema is a newer one. Whether it is true
/// of a problem is for check() to say.
Expected<SolutionFile> readSolution(std::string_view json);
/// The same of a file. Fails with File if it cannot be read.
Expected<SolutionFile> readSolutionFile(const std::string &path);

} // namespace divisi::search

#endif // DIVISI_SEARCH_SOLUTIONIO_H
