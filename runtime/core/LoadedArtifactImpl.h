//===- LoadedArtifactImpl.h - What sessions of it share ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_LOADEDARTIFACTIMPL_H
#define DIVISI_RUNTIME_CORE_LOADEDARTIFACTIMPL_H

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/core/LoadedArtifact.h"
#include "runtime/core/GlobalBoxes.h"

namespace divisi::rt {

/// What a LoadedArtifact keeps. Nothing but `boxes` changes once it is loaded.
struct LoadedArtifact::Impl {
  /// Of an artifact that is not resolved yet.
  Impl(std::string path, ArtifactFile file)
      : path(std::move(path)), file(std::move(file)) {}

  /// Resolves the manifest and chooses among the codes; fails as open does.
  Status load(const LoadOptions &options);

  std::string path;                           ///< As it was given.
  ArtifactFile file;                          ///< Mapped.
  std::unique_ptr<ResolvedManifest> resolved; ///< Of `file`, set by load().
  std::vector<EntryInfo> entries;             ///< Without boxes.
  std::vector<GlobalInfo> globals;            ///< Of the whole tensors.
  /// Of the artifact; without a target: calls go without it.
  std::vector<KernelCode> codes;
  NativeCodeUse nativeCode; ///< Of `codes`.
  SharedBoxes boxes;        ///< Of globals that no entry updates.

private:
  void describe();
  Status chooseCodes(const LoadOptions &options);
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_LOADEDARTIFACTIMPL_H
