//===- Sessions.h - Opening artifacts from the command line -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SESSIONS_H
#define DIVISI_LIB_DRIVER_SESSIONS_H

#include "Verbs.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/core/GivenTensors.h"
#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/launch/Processes.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi {

/// An artifact, ready to run one of its entries.
struct LoadedEntry {
  std::unique_ptr<rt::Session> session; ///< Never null.
  const rt::EntryInfo *entry = nullptr; ///< The session's.
  /// Where several processes have a part in it.
  std::unique_ptr<rt::GatheredOutputs> gathered;

  /// What this process has of the outputs for `inputs`, both in the entry's
  /// order; fails as rt::Session::run does.
  Expected<std::vector<rt::HostTensor>>
  run(std::span<const rt::HostTensor> inputs) const;
  /// The same of tensors where they lie, whole or as boxes.
  Expected<std::vector<rt::HostTensor>>
  run(std::span<const rt::TensorArgument> inputs) const;
  /// The outputs, of what run() has given; in several processes the first one
  /// has them, and others none.
  Expected<std::vector<rt::HostTensor>>
  collect(std::vector<rt::HostTensor> parts) const;
  /// Both.
  Expected<std::vector<rt::HostTensor>>
  runWhole(std::span<const rt::HostTensor> inputs) const;
};

/// Who runs an artifact: the processes of the command, or each alone.
enum class RunBy { Processes, Each };

/// The flags of which all processes of a run must have been given the same
/// values: each says so where it is declared, and is compared.
class AlikeFlags {
public:
  /// Adds one, which outlives the table.
  template <typename T> void add(const llvm::cl::opt<T> &flag) {
    rows_.push_back([&flag] {
      std::string text;
      llvm::raw_string_ostream(text)
          << "--" << flag.ArgStr << "=" << flag.getValue();
      return text;
    });
  }
  /// "--NAME=VALUE" of each.
  std::vector<std::string> values() const;

private:
  std::vector<std::function<std::string()>> rows_;
};

/// One of them.
template <typename T> class AlikeFlag : public llvm::cl::opt<T> {
public:
  /// With what llvm::cl::opt takes.
  template <typename... Modifiers>
  explicit AlikeFlag(AlikeFlags &flags, const Modifiers &...modifiers)
      : llvm::cl::opt<T>(modifiers...) {
    flags.add(*this);
  }
  using llvm::cl::opt<T>::operator=;
};

/// How an artifact is run; shared by run and check. The first call that needs
/// to know joins the other processes that a launcher has started.
struct SessionFlags {
  /// Adds --backend and what else a session takes to `verb`.
  explicit SessionFlags(llvm::cl::SubCommand &verb);

  /// Whether no other process has a part in it.
  bool isAlone() const { return !processes_; }
  /// ExitCode::Usage for a flag, else what rt::Session::open says.
  Expected<rt::SessionOptions> options() const;
  /// Loads `artifact` and finds the entry that --entry names, or the only one.
  /// Says aloud, once, when there are more ranks than this machine has cores.
  Expected<LoadedEntry> open(const std::string &artifact,
                             RunBy by = RunBy::Processes) const;

  /// Before anything else. Whether --launch has run the command of `verb` in
  /// processes of its own, which is all that there is to do. `input` may be an
  /// artifact, whose plan then says which of them belong on one host.
  Expected<bool> launch(const Verb &verb, const std::string &input) const;
  /// Whether this process has the outputs; to be asked once they have joined.
  bool isFirst() const { return !processes_ || processes_->isFirst(); }
  /// Success if `own` is one in all processes: see rt::Processes::agree.
  Status agree(const Status &own) const;
  /// What all processes say, one behind the other.
  Expected<std::string> gather(const std::string &own) const;

  /// All that follow, and what the verb adds.
  AlikeFlags alike;
  /// As they were given.
  AlikeFlag<std::string> backends;
  AlikeFlag<int> threads;
  AlikeFlag<bool> verify;
  AlikeFlag<int64_t> timeout;
  AlikeFlag<bool> noIndexCheck;
  AlikeFlag<bool> noPack;
  AlikeFlag<bool> noGraphs;
  AlikeFlag<bool> allowNative;
  AlikeFlag<std::string> trust;
  AlikeFlag<bool> tf32;
  AlikeFlag<std::string> entryName;
  AlikeFlag<int64_t> numProcesses;
  AlikeFlag<std::string> hosts;
  bool trace = false; ///< Set by the verb: whether runs are traced.

private:
  Status join(const std::string &artifact) const;

  Status readTrust(rt::SessionOptions &options) const;
  void noteNativeCode(const rt::Session &session) const;

  mutable bool isSharingNoted_ = false, hasJoined_ = false;
  mutable bool isNativeNoted_ = false;
  mutable std::string noKey_;                        ///< Why there is none.
  mutable std::unique_ptr<rt::Processes> processes_; ///< Null: it is alone.
};

/// Whether --threads-per-device and --timeout (ms) are numbers of some use;
/// else fails with Usage.
Status checkRanges(int threads, int64_t timeout);

/// The tensors of --inputs in the order of the inputs of `entry`. An entry
/// without inputs needs none.
Expected<std::vector<rt::HostTensor>>
readInputs(llvm::ArrayRef<std::string> arguments, const rt::EntryInfo &entry);

/// The index of the input that each of `tensors` is for. Fails as
/// rt::matchLabels does.
Expected<std::vector<size_t>>
matchInputs(llvm::ArrayRef<rt::GivenTensor> tensors, const rt::EntryInfo &entry,
            bool needsAll);

/// The same where others come from elsewhere: by the index of the input.
Expected<std::map<size_t, rt::HostTensor>>
readSomeInputs(llvm::ArrayRef<std::string> arguments,
               const rt::EntryInfo &entry);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SESSIONS_H
