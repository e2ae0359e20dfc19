//===- GlobalStore.cpp - Where the bytes of globals lie -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/GlobalStore.h"

using namespace divisi;

GlobalStore::GlobalStore(std::string folder) : folder_(std::move(folder)) {}

void GlobalStore::addFile(const std::string &file, MappedFile mapping) {
  files_[file] = std::move(mapping);
}

ByteRange GlobalStore::addBlob(std::span<const std::byte> bytes) {
  blob_.resize((blob_.size() + 63) / 64 * 64);
  int64_t offset = static_cast<int64_t>(blob_.size());
  blob_.insert(blob_.end(), bytes.begin(), bytes.end());
  return {std::string(kBlobFile), offset, static_cast<int64_t>(bytes.size())};
}

Expected<std::span<const std::byte>>
GlobalStore::bytes(const ByteRange &range) {
  std::span<const std::byte> all = blob_;
  if (range.file != kBlobFile) {
    auto it = files_.find(range.file);
    if (it == files_.end()) {
      bool isRelative = !range.file.starts_with('/') && !folder_.empty();
      auto mapping = MappedFile::open(isRelative ? folder_ + "/" + range.file
                                                 : range.file);
      if (!mapping) {
        return mapping.status();
      }
      it = files_.emplace(range.file, std::move(*mapping)).first;
    }
    if (!it->second) {
      return Status(ExitCode::File,
                    "the weights in '" + range.file +
                        "' are needed and the file is not there; without it "
                        "the model can only be planned");
    }
    all = it->second->bytes();
  }
  int64_t size = static_cast<int64_t>(all.size());
  if (range.offset < 0 || range.length < 0 || range.offset > size ||
      range.length > size - range.offset) {
    return Status(ExitCode::Invalid,
                  "'" + range.file + "' has " + std::to_string(size) +
                      " bytes; got a tensor of " +
                      std::to_string(range.length) + " bytes at offset " +
                      std::to_string(range.offset) +
                      "; the file is truncated or not the one meant");
  }
  return all.subspan(static_cast<size_t>(range.offset),
                     static_cast<size_t>(range.length));
}
