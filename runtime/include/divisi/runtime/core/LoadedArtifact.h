//===- LoadedArtifact.h - What sessions of an artifact share ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact in memory, from which any number of sessions are opened:
//
//   auto artifact = LoadedArtifact::open("gpt.divisi");
//   auto first = Session::open(*artifact, options);
//   auto second = Session::open(*artifact, options);
//
// They share its programs, its native code, and its weights, which are read
// once and brought into each layout that kernels want once. Activations, and
// globals that an entry updates, are each session's own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_LOADEDARTIFACT_H
#define DIVISI_RUNTIME_CORE_LOADEDARTIFACT_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/device/Box.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace divisi::rt {

/// How an artifact is loaded.
struct LoadOptions {
  /// Hash every global while loading, not the manifest alone.
  bool verifyHashes = false;
  /// Where external weights lie; empty: the artifact's folder.
  std::string externalFolder = {};
  /// Native code of an artifact is run if one of these public keys
  /// (Signature.h) has signed it ...
  std::vector<std::string> trustedKeys = {};
  /// ... or whoever made it. Else calls go without.
  bool allowsNativeCode = false;
  /// What ArtifactFile::hash() has to be, where others agreed on it before;
  /// empty: anything.
  std::string artifactHash = {};
};

/// An input or output of an entry; the whole tensor.
struct ValueInfo {
  std::string name;        ///< As the model has it.
  DType type = DType::F32; ///< Of its elements.
  Dims dims;               ///< Global extents.
  /// Of an input or output of a session's entry: what each of
  /// Session::localRanks() reads or writes, in that order; nothing of a rank
  /// outside of the value's grid.
  std::vector<std::optional<Box>> boxes = {};
  /// Of an input: whether it has no batch, though it is no scalar.
  bool isShared = false;
};

/// An entry function and what it takes and gives, in order.
struct EntryInfo {
  std::string name;                       ///< What run() is asked for.
  std::vector<ValueInfo> inputs, outputs; ///< Of whole tensors.
  /// Of a session's entry: the least exact float type that some kernel gives.
  /// Whatever the outputs' types are, they are no more exact.
  DType computedIn = DType::F64;
  /// Of a session's entry: whether numbers become codes on the way. One that
  /// lies between two may become either.
  bool isQuantized = false;
};

/// A parameter, state or constant of the artifact.
struct GlobalInfo {
  ValueInfo value;        ///< Its name, type and global extents.
  std::string kind;       ///< parameter, state, constant or derived.
  bool isUpdated = false; ///< By some entry.
  std::string sha256;     ///< Of its bytes in the artifact; 32 bytes.
};

/// What sessions do with the native code of their artifact.
struct NativeCodeUse {
  int64_t codes = 0; ///< How many there are ...
  int64_t bytes = 0; ///< ... and how large they are.
  /// Why sessions go without; empty: they use them.
  std::string refused;
};

/// See the file's head. All of it may be used by any thread at any time. It
/// lives until its last session has ended.
class LoadedArtifact {
public:
  ~LoadedArtifact();

  /// Reads and checks the artifact at `path`. Fails with File, Invalid or
  /// Version as ArtifactFile does, and with Unsupported for GPU code that
  /// nobody trusts.
  static Expected<std::shared_ptr<LoadedArtifact>>
  open(const std::string &path, const LoadOptions &options = {});

  /// The file that it was read from, for messages.
  const std::string &path() const;
  /// ArtifactFile::hash().
  const std::string &hash() const;
  /// How many ranks it is for.
  uint32_t numRanks() const;
  /// All entries, in the order of the artifact, without the boxes of ranks.
  std::span<const EntryInfo> entries() const;
  /// All globals, in the order of the artifact.
  std::span<const GlobalInfo> globals() const;
  /// What sessions do with native code.
  const NativeCodeUse &nativeCode() const;

private:
  friend class Session;
  struct Impl;
  explicit LoadedArtifact(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_LOADEDARTIFACT_H
