//===- GlobalStore.cpp - Where the bytes of globals lie -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/GlobalStore.h"

#include "divisi/Support/Sha256.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;

void GlobalStore::addFile(const std::string &file, MappedFile mapping) {
  files_[file].mapping = std::move(mapping);
  files_[file].isOpened = true;
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
  files_[file].mapping.reset();
  files_[file].isOpened = true;
}

bool GlobalStore::isAbsent(const std::string &file) const {
  auto it = files_.find(file);
  return it != files_.end() && it->second.isOpened && !it->second.mapping;
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

/// The words for what is expected, behind what was got.
static std::string expectedText(const FileIdentity &identity) {
  return "expected " + std::to_string(identity.bytes) +
         " bytes with the SHA-256 " + identity.sha256;
}

/// What to do about a file that is not the one meant.
static constexpr std::string_view kOtherFile =
    "; it is not the file that the plan was made from, or was changed since: "
    "put that one there, or plan again";

static Status wrongSize(const std::string &file, int64_t bytes,
                        const FileIdentity &expected) {
  return makeError(ExitCode::Invalid, "'", file, "' has ", bytes, " bytes, ",
                   expectedText(expected), kOtherFile);
}

void GlobalStore::expect(const std::string &file, FileIdentity identity) {
  files_[file].identity = std::move(identity);
}

Status GlobalStore::checkSizes() const {
  for (const auto &[name, file] : files_) {
    struct stat about{};
    if (file.identity && stat(name.c_str(), &about) == 0 &&
        S_ISREG(about.st_mode) && about.st_size != file.identity->bytes) {
      return wrongSize(name, about.st_size, *file.identity);
    }
  }
  return {};
}

static FileIdentity identityOf(std::span<const std::byte> bytes) {
  return {static_cast<int64_t>(bytes.size()), toHex(Sha256::of(bytes))};
}

std::optional<FileIdentity> GlobalStore::identify(const std::string &file) {
  File &known = files_[file];
  if (!known.identity && open(file, known).isOk() && known.mapping) {
    known.identity = identityOf(known.mapping->bytes());
  }
  return known.identity;
}

/// The error where `name` cannot be opened because of `why`.
Status GlobalStore::missing(const std::string &name, const File &file,
                            const Status &why) {
  if (file.isOpened) {
    return Status(ExitCode::File,
                  "the weights in '" + name +
                      "' are needed and the file is not there; without it "
                      "the model can only be planned");
  }
  return !file.identity
             ? why
             : makeError(ExitCode::File, why.message(), "; ",
                         expectedText(*file.identity),
                         " there: move model and plan together, or put that "
                         "file there");
}

Status GlobalStore::find(const std::string &file) const {
  auto it = files_.find(file);
  if (bytesInMemory(file) || (it != files_.end() && it->second.mapping)) {
    return {};
  }
  bool isAbsent = it != files_.end() && it->second.isOpened;
  if (!isAbsent && access(file.c_str(), R_OK) == 0) {
    return {};
  }
  Status why = makeError(ExitCode::File, "cannot read '", file,
                         "': ", std::strerror(errno));
  return it == files_.end() ? why : missing(file, it->second, why);
}

/// Maps `file` and compares it with what it has to be, once.
Status GlobalStore::open(const std::string &name, File &file) {
  if (file.isOpened) {
    return {};
  }
  Expected<MappedFile> mapping = MappedFile::open(name);
  if (!mapping) {
    return missing(name, file, mapping.status());
  }
  if (file.identity) {
    FileIdentity found{static_cast<int64_t>(mapping->bytes().size()), {}};
    if (found.bytes != file.identity->bytes) {
      return wrongSize(name, found.bytes, *file.identity);
    }
    found = identityOf(mapping->bytes());
    if (found != *file.identity) {
      return makeError(ExitCode::Invalid, "'", name, "' has the SHA-256 ",
                       found.sha256, ", ", expectedText(*file.identity),
                       kOtherFile);
    }
  }
  file.mapping = std::move(*mapping);
  file.isOpened = true;
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
  File &file = files_[name];
  if (Status status = open(name, file); !status.isOk()) {
    return status;
  }
  if (!file.mapping) {
    return missing(name, file, Status());
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
