//===- Parallel.h - Work in processes of its own ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_GENERATE_PARALLEL_H
#define DIVISI_LIB_REWRITE_GENERATE_PARALLEL_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What `count` pieces of work return, in their order, each done in a process
/// that begins as a copy of this one, up to `most` at once. Nothing for a
/// process that ended in another way. The caller has no other threads.
std::vector<std::optional<std::string>>
runInProcesses(size_t count, size_t most,
               const std::function<std::string(size_t)> &work);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_GENERATE_PARALLEL_H
