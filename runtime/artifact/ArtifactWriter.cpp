//===- ArtifactWriter.cpp - Writing .divisi files -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Crc32c.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/Support/Signature.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "runtime/artifact/ArtifactFormat.h"

#include <algorithm>
#include <map>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

namespace {

/// Bytes that stand once in the file.
struct Section {
  std::span<const std::byte> bytes;
  bool isMapped = false;                  ///< GlobalData::isMapped.
  std::vector<pb::Global *> globals = {}; ///< That have these bytes.
  pb::Code *code = nullptr;               ///< That has them.
  int64_t offset = 0;
};

} // namespace

static Status checkData(const pb::Manifest &manifest, const pb::Global &global,
                        const GlobalData &data) {
  static const pb::Tensor none;
  const pb::Tensor &tensor =
      global.tensor() < static_cast<uint32_t>(manifest.tensors_size())
          ? manifest.tensors(static_cast<int>(global.tensor()))
          : none;
  std::optional<DType> type = parseDType(tensor.dtype());
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> bytes;
  if (type) {
    bytes = checkedBytes(*type, dims);
  }
  bool isZero = data.bytes.empty() && global.kind() == "state";
  if (!bytes ||
      (!isZero && *bytes != static_cast<int64_t>(data.bytes.size()))) {
    return makeError(ExitCode::Usage, "global '", global.name(), "' has ",
                     data.bytes.size(), " bytes, which does not fit its type");
  }
  return {};
}

/// Gives every section its place after a manifest of `manifestBytes`; returns
/// the size of the file.
static int64_t placeSections(std::vector<Section> &sections,
                             size_t manifestBytes) {
  auto end = static_cast<int64_t>(sizeof(ArtifactHeader) + manifestBytes);
  for (Section &section : sections) {
    section.offset =
        (end + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
    end = section.offset + static_cast<int64_t>(section.bytes.size());
    for (pb::Global *global : section.globals) {
      global->set_offset(section.offset);
    }
    if (section.code) {
      section.code->set_offset(section.offset);
    }
  }
  return end;
}

static void letGo(std::span<const std::byte> bytes, bool isMapped) {
  if (isMapped) {
    MappedFile::letGo(bytes);
  }
}

/// Writes a section of globals if its bytes are those that were summed: who
/// has their file may change it.
static Status writeGlobals(OutputFile &file, const Section &section) {
  constexpr size_t most = 16 * checkedChunkBytes;
  const pb::Global &global = *section.globals.front();
  std::vector<std::byte> piece;
  for (size_t at = 0; at < section.bytes.size(); at += most) {
    auto from =
        section.bytes.subspan(at, std::min(most, section.bytes.size() - at));
    piece.assign(from.begin(), from.end());
    auto first =
        global.chunk_crc32c().begin() + int64_t(at / checkedChunkBytes);
    std::vector<uint32_t> sums = crc32cOfChunks(piece, checkedChunkBytes);
    if (!std::equal(sums.begin(), sums.end(), first)) {
      return makeError(ExitCode::File, "the bytes of global '", global.name(),
                       "' were changed while they were read");
    }
    if (Status status = file.write(piece); !status.isOk()) {
      return status;
    }
  }
  return {};
}

static Expected<std::vector<Section>>
collectSections(pb::Manifest &manifest, std::span<const GlobalData> data) {
  std::vector<Section> sections;
  std::map<std::string, size_t> sectionOfHash;
  for (size_t i = 0; i < data.size(); ++i) {
    pb::Global &global = *manifest.mutable_globals(static_cast<int>(i));
    if (Status status = checkData(manifest, global, data[i]); !status.isOk()) {
      return status;
    }
    std::string hash = Sha256::of(data[i].bytes);
    global.set_bytes(static_cast<int64_t>(data[i].bytes.size()));
    global.set_sha256(hash);
    std::vector<uint32_t> sums =
        crc32cOfChunks(data[i].bytes, checkedChunkBytes);
    global.mutable_chunk_crc32c()->Assign(sums.begin(), sums.end());
    letGo(data[i].bytes, data[i].isMapped);
    global.set_external_file(data[i].externalFile);
    global.set_offset(data[i].externalOffset);
    if (data[i].bytes.empty() || !data[i].externalFile.empty()) {
      continue;
    }
    auto [it, isNew] = sectionOfHash.emplace(hash, sections.size());
    if (isNew) {
      sections.push_back({data[i].bytes, data[i].isMapped});
    }
    sections[it->second].globals.push_back(&global);
  }
  return sections;
}

static void addCodes(pb::Manifest &manifest,
                     std::span<const std::span<const std::byte>> codes,
                     std::vector<Section> &sections) {
  for (size_t i = 0; i < codes.size(); ++i) {
    pb::Code &code = *manifest.mutable_codes(static_cast<int>(i));
    code.set_bytes(static_cast<int64_t>(codes[i].size()));
    code.set_sha256(Sha256::of(codes[i]));
    sections.push_back({codes[i], false, {}, &code});
  }
}

/// Gives all sections their places; returns the manifest as it is written.
static Expected<std::string> placeAll(pb::Manifest &manifest,
                                      std::vector<Section> &sections) {
  manifest.set_file_bytes(0);
  // Offsets stand in the manifest, whose length moves them: repeat until the
  // length stays. Numbers only grow with it, and are bounded.
  size_t manifestBytes = 0;
  do {
    manifestBytes = manifest.ByteSizeLong();
    manifest.set_file_bytes(placeSections(sections, manifestBytes));
  } while (manifest.ByteSizeLong() != manifestBytes);
  if (manifestBytes > maxManifestBytes) {
    return makeError(ExitCode::Usage, "a manifest of ", manifestBytes,
                     " bytes; expected at most ", maxManifestBytes);
  }
  return manifest.SerializeAsString();
}

Expected<int64_t>
divisi::rt::writeArtifact(const std::string &path, pb::Manifest manifest,
                          std::span<const GlobalData> data,
                          std::span<const std::span<const std::byte>> codes,
                          const std::string &codeKey) {
  if (static_cast<int>(data.size()) != manifest.globals_size()) {
    return makeError(ExitCode::Usage, "got data of ", data.size(),
                     " globals, expected ", manifest.globals_size());
  }
  if (static_cast<int>(codes.size()) != manifest.codes_size()) {
    return makeError(ExitCode::Usage, "got ", codes.size(), " codes, expected ",
                     manifest.codes_size());
  }
  Expected<std::vector<Section>> sections = collectSections(manifest, data);
  if (!sections) {
    return sections.status();
  }
  addCodes(manifest, codes, *sections);
  Expected<std::string> text = placeAll(manifest, *sections);
  if (!text) {
    return text.status();
  }
  std::string hash = Sha256::of(*text);
  ArtifactHeader header = {};
  std::copy_n(artifactMagic, sizeof(artifactMagic), header.magic);
  header.version = artifactVersion;
  header.manifestBytes = static_cast<uint32_t>(text->size());
  std::copy_n(hash.data(), hash.size(),
              reinterpret_cast<char *>(header.manifestHash));
  if (!codeKey.empty()) {
    std::ranges::copy(publicKeyOf(codeKey), std::begin(header.signer));
    std::ranges::copy(sign(codeKey, codedText(hash)),
                      std::begin(header.signature));
  }

  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  Status status =
      file->write(std::as_bytes(std::span<const ArtifactHeader>(&header, 1)));
  if (status.isOk()) {
    status = file->write(*text);
  }
  for (const Section &section : *sections) {
    if (status.isOk()) {
      status = file->padTo(section.offset);
    }
    if (status.isOk()) {
      status = section.code ? file->write(section.bytes)
                            : writeGlobals(*file, section);
      letGo(section.bytes, section.isMapped);
    }
  }
  if (status.isOk()) {
    status = file->commit();
  }
  return status.isOk() ? Expected<int64_t>(file->offset()) : status;
}
