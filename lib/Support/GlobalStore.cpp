//===- GlobalStore.cpp - Where the bytes of globals lie -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/GlobalStore.h"

#include "divisi/Support/Sha256.h"

using namespace divisi;

void GlobalStore::addFile(const std::string &file, MappedFile mapping) {
  File &known = files_[file];
  known.mapping = std::move(mapping);
  known.why = Status();
  known.isCompared = false;
}

void GlobalStore::addBytes(const std::string &file,
                           std::span<const std::byte> bytes,
                           std::shared_ptr<const void> owner) {
  memory_[file] = {bytes, std::move(owner)};
}

std::optional<std::span<const std::byte>>
GlobalStore::bytesInMemory(std::string_view file) const {
  if (file == kBlobFile) {
    return blob_;
  }
  auto it = memory_.find(file);
  return it == memory_.end() ? std::nullopt : std::optional(it->second.bytes);
}

void GlobalStore::addAbsent(const std::string &file) {
  addRefused(file, makeError(ExitCode::File, "the weights in '", file,
                             "' are needed and the file is not there; without "
                             "it the model can only be planned"));
}

void GlobalStore::addRefused(const std::string &file, Status why) {
  File &known = files_[file];
  known.mapping.reset();
  known.why = std::move(why);
}

bool GlobalStore::isAbsent(const std::string &file) const {
  auto it = files_.find(file);
  return it != files_.end() && !it->second.mapping;
}

ByteRange GlobalStore::addBlob(std::span<const std::byte> bytes) {
  blob_.resize((blob_.size() + 63) / 64 * 64);
  int64_t offset = static_cast<int64_t>(blob_.size());
  blob_.insert(blob_.end(), bytes.begin(), bytes.end());
  return {std::string(kBlobFile), offset, static_cast<int64_t>(bytes.size())};
}

//===----------------------------------------------------------------------===//
// What files have to be
//===----------------------------------------------------------------------===//

std::string divisi::identityText(const FileIdentity &identity) {
  return std::to_string(identity.bytes) + " bytes with the SHA-256 " +
         identity.sha256;
}

/// What to do about a file that is not the one meant.
static constexpr std::string_view kOtherFile =
    "; it is not the file that the plan was made from, or was changed since: "
    "put that one there, or plan again";

static Status wrongSize(const std::string &file, int64_t bytes,
                        const FileIdentity &expected) {
  return makeError(ExitCode::Invalid, "'", file, "' has ", bytes,
                   " bytes, expected ", identityText(expected), kOtherFile);
}

void GlobalStore::expect(const std::string &file, FileIdentity identity) {
  files_[file].identity = std::move(identity);
}

Status GlobalStore::checkSizes() const {
  for (const auto &[name, file] : files_) {
    int64_t bytes = file.mapping ? int64_t(file.mapping->bytes().size()) : 0;
    if (file.mapping && file.identity && bytes != file.identity->bytes) {
      return wrongSize(name, bytes, *file.identity);
    }
  }
  return {};
}

static FileIdentity identityOf(std::span<const std::byte> bytes) {
  return {static_cast<int64_t>(bytes.size()), toHex(Sha256::of(bytes))};
}

std::optional<FileIdentity> GlobalStore::identify(const std::string &file) {
  auto it = files_.find(file);
  if (it == files_.end()) {
    return std::nullopt;
  }
  File &known = it->second;
  if (!known.identity && known.mapping) {
    known.identity = identityOf(known.mapping->bytes());
    known.isCompared = true;
  }
  return known.identity;
}

Status GlobalStore::find(const std::string &file) const {
  auto it = files_.find(file);
  if (bytesInMemory(file)) {
    return {};
  }
  if (it == files_.end() || (!it->second.mapping && it->second.why.isOk())) {
    return makeError(ExitCode::File, "the file '", file,
                     "' is not among those of the program");
  }
  return it->second.why;
}

/// Compares `file` with what it has to be, once.
Status GlobalStore::compare(const std::string &name, File &file) {
  if (!file.identity || file.isCompared) {
    return {};
  }
  FileIdentity found{static_cast<int64_t>(file.mapping->bytes().size()), {}};
  if (found.bytes != file.identity->bytes) {
    return wrongSize(name, found.bytes, *file.identity);
  }
  found = identityOf(file.mapping->bytes());
  if (found != *file.identity) {
    return makeError(ExitCode::Invalid, "'", name, "' has the SHA-256 ",
                     found.sha256, ", expected ", identityText(*file.identity),
                     kOtherFile);
  }
  file.isCompared = true;
  return {};
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

Expected<std::span<const std::byte>>
GlobalStore::contentOf(const std::string &name) {
  if (auto bytes = bytesInMemory(name)) {
    return *bytes;
  }
  if (Status status = find(name); !status.isOk()) {
    return status;
  }
  File &file = files_.find(name)->second;
  if (Status status = compare(name, file); !status.isOk()) {
    return status;
  }
  return file.mapping->bytes();
}

Expected<std::span<const std::byte>>
GlobalStore::bytes(const ByteRange &range) {
  Expected<std::span<const std::byte>> all = contentOf(range.file);
  if (!all) {
    return all.status();
  }
  int64_t size = static_cast<int64_t>(all->size());
  if (range.offset < 0 || range.length < 0 || range.offset > size ||
      range.length > size - range.offset) {
    return Status(ExitCode::Invalid,
                  "'" + range.file + "' has " + std::to_string(size) +
                      " bytes; got a tensor of " +
                      std::to_string(range.length) + " bytes at offset " +
                      std::to_string(range.offset) +
                      "; the file is truncated or not the one meant");
  }
  return all->subspan(static_cast<size_t>(range.offset),
                      static_cast<size_t>(range.length));
}
