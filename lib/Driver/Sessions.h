//===- Sessions.h - Opening artifacts from the command line -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SESSIONS_H
#define DIVISI_LIB_DRIVER_SESSIONS_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/Session.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi {

/// An artifact, ready to run one of its entries.
struct LoadedEntry {
  std::unique_ptr<rt::Session> session; ///< Never null.
  const rt::EntryInfo *entry = nullptr; ///< The session's.

  /// The outputs for `inputs`, both in the entry's order; fails as
  /// rt::Session::run does.
  Expected<std::vector<rt::HostTensor>>
  run(std::span<const rt::HostTensor> inputs) const;
};

/// How an artifact is run; shared by run and check.
struct SessionFlags {
  /// Adds --backend and what else a session takes to `verb`.
  explicit SessionFlags(llvm::cl::SubCommand &verb);

  /// ExitCode::Usage for a flag, else what rt::Session::open says.
  Expected<rt::SessionOptions> options() const;
  /// Loads `artifact` and finds the entry that --entry names, or the only one.
  /// Says aloud, once, when there are more ranks than this machine has cores.
  Expected<LoadedEntry> open(const std::string &artifact) const;

  // As they were given.
  llvm::cl::opt<std::string> backends;
  llvm::cl::opt<int> threads;
  llvm::cl::opt<bool> verify;
  llvm::cl::opt<int64_t> timeout;
  llvm::cl::opt<bool> noIndexCheck;
  llvm::cl::opt<std::string> entryName;
  bool trace = false; ///< Set by the verb: whether runs are traced.

private:
  mutable bool isSharingNoted_ = false;
};

/// The tensors of --inputs in the order of the inputs of `entry`. An entry
/// without inputs needs none.
Expected<std::vector<rt::HostTensor>>
readInputs(llvm::ArrayRef<std::string> arguments, const rt::EntryInfo &entry);

/// Those of --expect, in the order of the outputs of `entry`.
Expected<std::vector<rt::HostTensor>>
readOutputs(llvm::ArrayRef<std::string> arguments, const rt::EntryInfo &entry);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SESSIONS_H
