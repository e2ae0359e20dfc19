//===- ExternalData.cpp - Tensors in files beside the model ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExternalData.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace divisi;

static std::optional<int64_t> parseNumber(const std::string &text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

/// Of this process; relative where it is gone.
static std::string workingFolder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::current_path(error);
  return error ? "." : folder.string();
}

ExternalData::ExternalData(const std::string &modelPath, GlobalStore &store)
    : modelPath_(modelPath),
      folder_(store.bytesInMemory(modelPath) ? workingFolder()
                                             : folderOf(modelPath)),
      store_(store) {}

/// Whether the text of `location` names a file, and leads down alone.
static bool leadsDown(const std::filesystem::path &location) {
  return location.has_filename() && location != "." && location.is_relative() &&
         std::find(location.begin(), location.end(), "..") == location.end();
}

/// Beneath the model's folder, or beneath that of the file to which the model's
/// name leads.
Expected<std::optional<MappedFile>>
ExternalData::find(const std::string &location) const {
  auto file = MappedFile::findBeneath(folder_, location);
  if (file || file.status().code() != ExitCode::Invalid ||
      !leadsDown(location)) {
    return file;
  }
  std::error_code error;
  std::filesystem::path model = std::filesystem::canonical(modelPath_, error);
  std::filesystem::path data = std::filesystem::canonical(
      std::filesystem::path(folder_) / location, error);
  if (error || model.empty()) {
    return file;
  }
  std::filesystem::path place = data.lexically_relative(model.parent_path());
  if (place.empty() || !leadsDown(place)) {
    return file;
  }
  return MappedFile::findBeneath(model.parent_path().string(), place.string());
}

/// The name under which the store has the file at `location`.
Expected<std::string> ExternalData::open(const std::string &tensor,
                                         const std::string &location) {
  auto known = opened_.find(location);
  if (known != opened_.end()) {
    return known->second;
  }
  auto file = find(location);
  if (!file) {
    return file.status().in("tensor '" + tensor + "' in external data");
  }
  std::string name = folder_ == "."   ? location
                     : folder_ == "/" ? "/" + location
                                      : folder_ + "/" + location;
  if (*file) {
    store_.addFile(name, std::move(**file));
  } else {
    store_.addAbsent(name);
  }
  opened_[location] = name;
  return name;
}

Expected<ByteRange>
ExternalData::locate(const std::string &tensor,
                     const std::map<std::string, std::string> &entries,
                     int64_t bytes) {
  ByteRange range;
  range.length = bytes;
  std::string location;
  for (const auto &[key, value] : entries) {
    if (key == "location") {
      location = value;
    } else if (key == "offset" || key == "length") {
      auto number = parseNumber(value);
      if (!number || (key == "length" && *number != bytes)) {
        return Status(ExitCode::Invalid,
                      "tensor '" + tensor + "' has the external " + key + " '" +
                          value + "', expected " +
                          (key == "length" ? std::to_string(bytes) +
                                                 ", the bytes of its shape"
                                           : "a number that is not negative"));
      }
      if (key == "offset") {
        range.offset = *number;
      }
    }
    // `checksum` is optional, and reading all bytes for it would undo mapping.
  }
  auto file = open(tensor, location);
  if (!file) {
    return file.status();
  }
  range.file = *file;
  if (store_.isAbsent(range.file)) {
    return range;
  }
  auto data = store_.bytes(range);
  if (!data) {
    return data.status().in("tensor '" + tensor + "'");
  }
  return range;
}
