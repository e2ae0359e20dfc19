//===- CodeCache.cpp - Code that was made before --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/CodeCache.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/Support/UserKey.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <vector>

using namespace divisi;
namespace fs = std::filesystem;

static constexpr size_t macBytes = 32;

static std::string cacheFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && cache[0] == '/') {
    return std::string(cache) + "/divisi/native";
  }
  return home && home[0] == '/' ? std::string(home) + "/.cache/divisi/native"
                                : std::string();
}

CodeCache::CodeCache() : folder_(cacheFolder()) {
  if (Expected<std::string> key = makeUserKey(KeyUse::Cache);
      key && !folder_.empty()) {
    key_ = *key;
  }
}

std::string CodeCache::fileOf(const std::string &source) const {
  return folder_ + "/" + toHex(Sha256::of(source));
}

std::string CodeCache::macOf(const std::string &source,
                             const std::string &code) const {
  return hmacSha256(key_, "divisi-cached-code-1\n" + Sha256::of(source) + code);
}

std::optional<std::string> CodeCache::find(const std::string &source) const {
  if (key_.empty()) {
    return std::nullopt;
  }
  Expected<OpenFile> file = OpenFile::open(fileOf(source));
  if (!file || file->size() <= int64_t(macBytes) || file->size() > mostBytes) {
    return std::nullopt;
  }
  std::string content(size_t(file->size()), '\0');
  Status read = file->read(0, std::as_writable_bytes(std::span(content)));
  if (!read.isOk()) {
    return std::nullopt;
  }
  std::string code = content.substr(macBytes);
  return areEqualCodes(macOf(source, code), content.substr(0, macBytes))
             ? std::optional(std::move(code))
             : std::nullopt;
}

void CodeCache::keep(const std::string &source, const std::string &code) const {
  std::error_code ignored; // opening tells
  if (key_.empty()) {
    return;
  }
  fs::create_directories(folder_, ignored);
  std::string path = fileOf(source);
  if (isWrittenInPlace(path)) {
    fs::remove(path, ignored); // nobody reads a pipe that is here
  }
  Expected<OutputFile> file = OutputFile::create(path);
  bool isKept = file && file->write(macOf(source, code) + code).isOk() &&
                file->commit().isOk();
  if (isKept) {
    dropOldest();
  }
}

void CodeCache::dropOldest() const {
  struct Entry {
    fs::file_time_type time;
    fs::path path;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t bytes = 0;
  std::error_code error; // others may drop entries at the same time
  for (fs::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    auto size = static_cast<int64_t>(at->file_size(gone));
    auto time = at->last_write_time(gone);
    if (!gone) {
      entries.push_back({time, at->path(), size});
      bytes += size;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.time != b.time ? a.time < b.time : a.path < b.path;
  });
  for (const Entry &entry : entries) {
    if (bytes <= mostBytes) {
      return;
    }
    fs::remove(entry.path, error);
    bytes -= entry.bytes;
  }
}
