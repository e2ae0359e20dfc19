//===- ArtifactFile.cpp - Reading .divisi files ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/Support/Crc32c.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/Support/Signature.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "runtime/artifact/ArtifactFormat.h"

#include <algorithm>
#include <atomic>
#include <map>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

struct ArtifactFile::Impl {
  Status readManifest(const OpenFile &opened);
  Status openGlobal(const pb::Global &global, const std::string &folder);
  Status readGlobal(size_t index, const OpenFile &opened,
                    const std::string &folder);
  Status readCode(const pb::Code &code, const OpenFile &opened);
  Status checkSigner() const;
  Status compareChunks(size_t index, size_t begin, size_t end) const;
  Status damagedGlobal(size_t index, const std::string &what) const;

  MappedFile file; ///< For globals alone.
  pb::Manifest manifest;
  std::string hash;
  /// As the header has them; without a signer the last two are empty.
  std::string manifestHash, signer, signature;
  std::map<std::string, MappedFile> externals;
  std::vector<std::span<const std::byte>> globals;
  std::vector<AlignedBytes> codes;
  /// With ArtifactOptions::verifyHashes, the bytes of globals, by hash.
  std::map<std::string, AlignedBytes> verified;
  /// [global][chunk]: whether somebody has compared its checksum, or does.
  mutable std::vector<std::vector<std::atomic<bool>>> isCompared;
};

ArtifactFile::ArtifactFile(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
ArtifactFile::ArtifactFile(ArtifactFile &&) noexcept = default;
ArtifactFile &ArtifactFile::operator=(ArtifactFile &&) noexcept = default;
ArtifactFile::~ArtifactFile() = default;

const std::string &ArtifactFile::hash() const { return impl_->hash; }

const std::string &ArtifactFile::signer() const { return impl_->signer; }

bool ArtifactFile::isSignatureRight() const {
  return isSignature(impl_->signer, codedText(impl_->manifestHash),
                     impl_->signature);
}

const pb::Manifest &ArtifactFile::manifest() const { return impl_->manifest; }

std::span<const std::byte> ArtifactFile::globalBytes(size_t index) const {
  return impl_->globals[index];
}

int64_t ArtifactFile::verifiedBytes() const {
  int64_t sum = 0;
  for (const auto &[hash, bytes] : impl_->verified) {
    sum += bytes.size();
  }
  return sum;
}

void ArtifactFile::letGo(size_t index, int64_t begin, int64_t end) const {
  if (!impl_->verified.empty()) {
    return; // memory of our own has no file behind it
  }
  MappedFile::letGo(impl_->globals[index].subspan(begin, end - begin));
}

std::span<const std::byte> ArtifactFile::codeBytes(size_t index) const {
  return impl_->codes[index].span();
}

template <typename... Parts> static Status damaged(const Parts &...parts) {
  return makeError(ExitCode::Invalid, "damaged artifact: ", parts...);
}

Status ArtifactFile::Impl::readManifest(const OpenFile &opened) {
  ArtifactHeader header;
  bool hasHeader = opened.size() >= int64_t(sizeof(header));
  if (hasHeader) {
    Status status = opened.read(
        0, std::as_writable_bytes(std::span<ArtifactHeader>(&header, 1)));
    if (!status.isOk()) {
      return status;
    }
  }
  if (!hasHeader || !std::equal(std::begin(artifactMagic),
                                std::end(artifactMagic), header.magic)) {
    return makeError(ExitCode::Invalid,
                     "not a Divisi artifact: it does not begin like one");
  }
  if (header.version != artifactVersion) {
    return makeError(
        ExitCode::Version, "artifact of format version ", header.version,
        "; this Divisi reads version ", artifactVersion,
        header.version > artifactVersion ? ": update it, or " : ": ",
        "compile the model again");
  }
  if (header.manifestBytes > maxManifestBytes) {
    return damaged("a manifest of ", header.manifestBytes,
                   " bytes; expected at most ", maxManifestBytes);
  }
  if (header.manifestBytes > opened.size() - int64_t(sizeof(header))) {
    return damaged("its manifest is cut off; the file may be truncated");
  }
  std::string text(header.manifestBytes, '\0');
  Status status = opened.read(sizeof(header),
                              std::as_writable_bytes(std::span<char>(text)));
  if (!status.isOk()) {
    return status;
  }
  std::string expected(reinterpret_cast<const char *>(header.manifestHash), 32);
  if (Sha256::of(text) != expected) {
    return damaged("its manifest does not match its hash");
  }
  hash = toHex(expected);
  manifestHash = expected;
  signer.assign(std::begin(header.signer), std::end(header.signer));
  signature.assign(std::begin(header.signature), std::end(header.signature));
  if ((signer + signature).find_first_not_of('\0') == std::string::npos) {
    signer = signature = "";
  }
  if (!manifest.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return damaged("its manifest cannot be parsed");
  }
  if (manifest.file_bytes() != opened.size()) {
    return damaged("the file has ", opened.size(), " bytes, expected ",
                   manifest.file_bytes(), "; it may be truncated");
  }
  return {};
}

Status ArtifactFile::Impl::openGlobal(const pb::Global &global,
                                      const std::string &folder) {
  if (global.bytes() == 0) {
    globals.emplace_back();
    isCompared.emplace_back();
    return {};
  }
  std::span<const std::byte> source = file.bytes();
  if (!global.external_file().empty()) {
    auto it = externals.find(global.external_file());
    if (it == externals.end()) {
      Expected<MappedFile> opened =
          MappedFile::openBeneath(folder, global.external_file());
      if (!opened) {
        return opened.status().in("global '" + global.name() + "'");
      }
      it = externals.emplace(global.external_file(), std::move(*opened)).first;
    }
    source = it->second.bytes();
  }
  auto size = static_cast<int64_t>(source.size());
  if (global.offset() < 0 || global.bytes() < 0 || global.offset() > size ||
      global.bytes() > size - global.offset()) {
    return damaged("global '", global.name(), "' lies at bytes ",
                   global.offset(), " + ", global.bytes(), " of a file of ",
                   size);
  }
  globals.push_back(source.subspan(global.offset(), global.bytes()));
  int64_t chunks = (global.bytes() + checkedChunkBytes - 1) / checkedChunkBytes;
  if (global.chunk_crc32c_size() != chunks) {
    return damaged("global '", global.name(), "' has ",
                   global.chunk_crc32c_size(), " checksums, expected ", chunks);
  }
  isCompared.emplace_back(chunks);
  return {};
}

/// Whatever runs it believes it: all of it is looked at, and what was looked at
/// is what runs.
Status ArtifactFile::Impl::readCode(const pb::Code &code,
                                    const OpenFile &opened) {
  int64_t size = opened.size();
  if (code.offset() < 0 || code.bytes() < 0 || code.offset() > size ||
      code.bytes() > size - code.offset()) {
    return damaged("code for '", code.target(), "' lies at bytes ",
                   code.offset(), " + ", code.bytes(), " of a file of ", size);
  }
  Expected<AlignedBytes> bytes = AlignedBytes::allocate(code.bytes());
  Status status =
      bytes ? opened.read(code.offset(), bytes->span()) : bytes.status();
  if (!status.isOk()) {
    return status;
  }
  codes.push_back(std::move(*bytes));
  return Sha256::of(codes.back().span()) == code.sha256()
             ? Status()
             : damaged("code for '", code.target(),
                       "' does not match its hash");
}

/// Where nobody needs to vouch for anything, nobody does.
Status ArtifactFile::Impl::checkSigner() const {
  bool hasNative = std::any_of(manifest.codes().begin(), manifest.codes().end(),
                               [](const pb::Code &code) {
                                 return !levelOfTarget(code.target()).empty() ||
                                        isGridTarget(code.target());
                               });
  return signer.empty() || hasNative ? Status()
                                     : damaged("it has no native code to sign");
}

/// `what` it has not as it should.
Status ArtifactFile::Impl::damagedGlobal(size_t index,
                                         const std::string &what) const {
  const pb::Global &global = manifest.globals(static_cast<int>(index));
  return damaged("global '", global.name(), "' does not have the ", what,
                 " that it should have",
                 global.external_file().empty()
                     ? ""
                     : "; has its file '" + global.external_file() +
                           "' been changed since the artifact was made?");
}

/// Brings a global to memory of our own, and compares its hash there.
Status ArtifactFile::Impl::readGlobal(size_t index, const OpenFile &opened,
                                      const std::string &folder) {
  const pb::Global &global = manifest.globals(static_cast<int>(index));
  AlignedBytes &bytes = verified[global.sha256()];
  if (bytes.size() != global.bytes()) {
    Expected<AlignedBytes> room = AlignedBytes::allocate(global.bytes());
    Status status = room.status();
    if (status.isOk() && global.external_file().empty()) {
      status = opened.read(global.offset(), room->span());
    } else if (status.isOk()) {
      auto other = OpenFile::openBeneath(folder, global.external_file());
      status =
          other ? other->read(global.offset(), room->span()) : other.status();
    }
    if (!status.isOk()) {
      return status.in("global '" + global.name() + "'");
    }
    if (Sha256::of(room->span()) != global.sha256()) {
      return damagedGlobal(index, "hash");
    }
    bytes = std::move(*room);
  }
  globals[index] = bytes.span();
  return {};
}

/// All of those chunks are the caller's to compare.
Status ArtifactFile::Impl::compareChunks(size_t index, size_t begin,
                                         size_t end) const {
  const pb::Global &global = manifest.globals(static_cast<int>(index));
  size_t from = begin * checkedChunkBytes;
  size_t bytes =
      std::min((end - begin) * checkedChunkBytes, globals[index].size() - from);
  std::vector<uint32_t> sums =
      crc32cOfChunks(globals[index].subspan(from, bytes), checkedChunkBytes);
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != global.chunk_crc32c(static_cast<int>(begin + i))) {
      size_t first = from + i * checkedChunkBytes;
      return damagedGlobal(index, "checksum of its bytes from " +
                                      std::to_string(first) + " on");
    }
  }
  return {};
}

Status ArtifactFile::checkBytes(size_t index, int64_t begin,
                                int64_t end) const {
  // A few chunks at a time, so that threads that begin at the same time share
  // the work; some at a time are summed sooner than one after the other.
  constexpr size_t most = 16;
  std::vector<std::atomic<bool>> &isCompared = impl_->isCompared[index];
  size_t chunk = begin / checkedChunkBytes;
  size_t last = (end + checkedChunkBytes - 1) / checkedChunkBytes;
  while (chunk < last) {
    size_t mine = chunk;
    while (mine < std::min(chunk + most, last) &&
           !isCompared[mine].load(std::memory_order_relaxed) &&
           !isCompared[mine].exchange(true)) {
      ++mine;
    }
    if (mine == chunk) {
      ++chunk;
      continue;
    }
    Status status = impl_->compareChunks(index, chunk, mine);
    if (!status.isOk()) {
      std::fill_n(isCompared.begin() + ptrdiff_t(chunk), mine - chunk, false);
      return status;
    }
    chunk = mine;
  }
  return {};
}

void ArtifactFile::compareAgain() const {
  for (std::vector<std::atomic<bool>> &ofGlobal : impl_->isCompared) {
    std::fill(ofGlobal.begin(), ofGlobal.end(), false);
  }
}

Expected<ArtifactFile> ArtifactFile::open(const std::string &path,
                                          const ArtifactOptions &options) {
  Expected<OpenFile> opened = OpenFile::open(path);
  if (!opened) {
    return opened.status();
  }
  auto impl = std::make_unique<Impl>();
  Status status = impl->readManifest(*opened);
  if (status.isOk()) {
    Expected<MappedFile> file = opened->map();
    status = file.status();
    impl->file = file ? std::move(*file) : MappedFile();
  }
  std::string folder =
      options.externalFolder.empty() ? folderOf(path) : options.externalFolder;
  for (int i = 0; status.isOk() && i < impl->manifest.globals_size(); ++i) {
    status = impl->openGlobal(impl->manifest.globals(i), folder);
    if (status.isOk() && options.verifyHashes &&
        !impl->globals.back().empty()) {
      status = impl->readGlobal(i, *opened, folder);
    }
  }
  for (int i = 0; status.isOk() && i < impl->manifest.codes_size(); ++i) {
    status = impl->readCode(impl->manifest.codes(i), *opened);
  }
  if (status.isOk()) {
    status = impl->checkSigner();
  }
  if (!status.isOk()) {
    return status.in("'" + path + "'");
  }
  return ArtifactFile(std::move(impl));
}
