//===- ProblemIO.h - Planning problems as JSON ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is that of the ASPLOS 2025 contest on intra-operator parallelism:
//
//   {"problem": {"name": "…",
//     "nodes": {"intervals": [[30, 70]], "costs": [[15, 4]],
//               "usages": [[10, 9]]},
//     "edges": {"nodes": [[0, 1]], "costs": [[30, 40]]},
//     "usage_limit": 50}}
//
// Beside it, nodes may carry "names" (one each) and "strategies" (one list
// each), and edges "usages" (a list each, empty for none) with "intervals".
// Costs are above -1e18, usages and times not below zero.
//
// Memory of several resources, and what lives more than once, need more keys;
// without them a file is the contest's. This adds a resource of limit 16, of
// which the node uses 3 or 2, and lets it use both while [90, 95) as well:
//
//   "more_resources": [{"name": "v100", "usage_limit": 16}]    of the problem
//   "more_usages": [[[3, 2]]], "more_intervals": [[[90, 95]]]  of nodes
//
// A problem's "resource" is the name of the first. Each node has a list of
// usages for each further resource, empty for none, and those at the end may be
// left out; its intervals come one after the other. Edges have the same two
// keys, with entries of matrices, beside "usages" and "intervals".
//
// A text has less than 2^32 bytes and thus numbers, so that sums of costs or
// usages stay below 2^95: in 128 bits they never overflow.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_PROBLEMIO_H
#define DIVISI_SEARCH_PROBLEMIO_H

#include "divisi/Search/Problem.h"
#include "divisi/Support/Status.h"

namespace divisi::search {

/// Reads a problem out of `bytes`: JSON, or gzip of it. Fails with Invalid if
/// the problem would not be valid, naming line and column (in bytes) of the
/// text and the path there. Unknown keys are skipped.
Expected<Problem> readProblem(std::string_view bytes);

/// The same of the file `path`, "-" being stdin. Fails with File if it cannot
/// be read.
Expected<Problem> readProblemFile(const std::string &path);

/// The problem as JSON; readProblem of it gives an equal problem, save that
/// matrices which happen to be equal become one.
std::string writeProblem(const Problem &problem);

} // namespace divisi::search

#endif // DIVISI_SEARCH_PROBLEMIO_H
