//===- UserCache.cpp - The user's cache of what was made ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/UserCache.h"

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

static std::string cacheFolder(const std::string &kind) {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && cache[0] == '/') {
    return std::string(cache) + "/divisi/" + kind;
  }
  return home && home[0] == '/' ? std::string(home) + "/.cache/divisi/" + kind
                                : std::string();
}

UserCache::UserCache(std::string kind)
    : kind_(std::move(kind)), folder_(cacheFolder(kind_)) {
  if (Expected<std::string> key = makeUserKey(KeyUse::Cache);
      key && !folder_.empty()) {
    key_ = *key;
  }
}

std::string UserCache::fileOf(const std::string &source) const {
  return folder_ + "/" + toHex(Sha256::of(source));
}

std::string UserCache::macOf(const std::string &source,
                             const std::string &made) const {
  return hmacSha256(key_, "divisi-cached-" + kind_ + "-1\n" +
                              Sha256::of(source) + made);
}

std::optional<std::string> UserCache::find(const std::string &source) const {
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
  std::string made = content.substr(macBytes);
  return areEqualCodes(macOf(source, made), content.substr(0, macBytes))
             ? std::optional(std::move(made))
             : std::nullopt;
}

void UserCache::keep(const std::string &source, const std::string &made) const {
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
  bool isKept = file && file->write(macOf(source, made) + made).isOk() &&
                file->commit().isOk();
  if (isKept) {
    dropOldest();
  }
}

void UserCache::dropOldest() const {
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
