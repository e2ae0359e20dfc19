//===- ArtifactFile.h - Reading and writing .divisi files -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact is a manifest (runtime/schema/artifact.proto) and the bytes of
// its globals, in the same file or beside it. Reading checks magic, version,
// lengths and the manifest's hash before anything of it is believed; that the
// programs in it can run is checked by verifyManifest (Verify.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_ARTIFACTFILE_H
#define DIVISI_RUNTIME_ARTIFACT_ARTIFACTFILE_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/artifact/ArtifactVersion.h"
#include "runtime/schema/artifact.pb.h"

#include <cstddef>
#include <memory>
#include <span>

namespace divisi::rt {

/// How an artifact is opened.
struct ArtifactOptions {
  /// Where external files lie; empty: the artifact's own folder. Their paths
  /// must not lead out of it.
  std::string externalFolder;
  /// Read every global into memory now and hash it there. Otherwise weights are
  /// not touched before they are used: see ArtifactFile::checkBytes.
  bool verifyHashes = false;
};

/// An artifact opened for reading. The manifest and codes were read into memory
/// and checked there, so that nobody changes what was checked. The bytes of
/// globals are mapped: other processes may change them, or truncate their file,
/// which then gives SIGBUS to who reads them.
class ArtifactFile {
public:
  ArtifactFile(ArtifactFile &&) noexcept;
  ArtifactFile &operator=(ArtifactFile &&) noexcept;
  ~ArtifactFile();

  /// Fails with File if a file cannot be read, Invalid if it is damaged,
  /// truncated or leads out of its folder, Version if it is of another one.
  static Expected<ArtifactFile> open(const std::string &path,
                                     const ArtifactOptions &options = {});

  /// The SHA-256 of the manifest, in hexadecimal: with the hashes in there, of
  /// all that the artifact has.
  const std::string &hash() const;
  /// The public key (Signature.h) of who vouches for its native code, as the
  /// artifact says; empty if nobody does.
  const std::string &signer() const;
  /// Whether that is so: who has the secret of signer() has signed it.
  bool isSignatureRight() const;
  /// What the artifact says; lives as long as this object.
  const artifact::Manifest &manifest() const;
  /// The bytes of the whole global; empty where it begins as zeros. They live
  /// as long as this object.
  std::span<const std::byte> globalBytes(size_t index) const;

  /// What ArtifactOptions::verifyHashes has read into memory of this object: the
  /// globals, each of equal ones once; 0 without it.
  int64_t verifiedBytes() const;

  /// The bytes of a code, whose hash has been compared, in memory of this
  /// object.
  std::span<const std::byte> codeBytes(size_t index) const;

  /// Compares the checksums of those chunks of a global in which the bytes from
  /// `begin` to `end` lie, and which nobody has compared before: whoever reads
  /// bytes asks first. Fails with Invalid where one is damaged. May be called
  /// by several threads, of which one compares a chunk; the others go on.
  Status checkBytes(size_t index, int64_t begin, int64_t end) const;

  /// Lets checkBytes compare all chunks again: for who reads, some time after
  /// others, what may have changed since. By any thread.
  void compareAgain() const;

  /// Lets go of the memory of a global's bytes from `begin` to `end`: who reads
  /// them again has them from the file. By any thread.
  void letGo(size_t index, int64_t begin, int64_t end) const;

private:
  struct Impl;
  explicit ArtifactFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Where the bytes of a global come from when an artifact is written.
struct GlobalData {
  /// The whole tensor. Empty: it has no elements, or begins as zeros (state).
  std::span<const std::byte> bytes;
  /// If not empty, the bytes are not copied: they stay in this file, a path
  /// relative to the artifact's folder that does not leave it, at that offset.
  std::string externalFile;
  int64_t externalOffset = 0;
  /// Whether `bytes` are of a mapped file, whose memory is let go of when they
  /// have been read.
  bool isMapped = false;
};

/// Writes `manifest` with `data` (one per global, in order) to `path`, through
/// a temporary name, and returns how many bytes that are. The globals' places
/// and hashes and the file's size are filled in here; globals of equal bytes
/// share one section. `codes` are the bytes of the manifest's codes, in order.
/// Who has the secret key `codeKey` (UserKey.h) signs them, unless that is
/// empty.
/// The same arguments give the same bytes. Fails with Usage if `data` does not
/// fit the globals or `codes` the codes, with File if the file cannot be
/// written.
Expected<int64_t>
writeArtifact(const std::string &path, artifact::Manifest manifest,
              std::span<const GlobalData> data,
              std::span<const std::span<const std::byte>> codes = {},
              const std::string &codeKey = {});

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_ARTIFACTFILE_H
