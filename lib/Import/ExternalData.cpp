//===- ExternalData.cpp - Tensors in files beside the model ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExternalData.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

using namespace divisi;

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Lexical checks of names failed three times in ONNX's history: the kernel
/// alone knows where a name leads.
static int openBeneath(int folder, const std::string &name) {
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      ::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof(how)));
}

static std::optional<int64_t> parseNumber(const std::string &text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

ExternalData::ExternalData(const std::string &modelPath, GlobalStore &store)
    : folder_(folderOf(modelPath)), store_(store) {}

ExternalData::~ExternalData() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Expected<std::string> ExternalData::open(const std::string &tensor,
                                         const std::string &location) {
  auto known = opened_.find(location);
  if (known != opened_.end()) {
    return known->second;
  }
  auto fail = [&](ExitCode code, const std::string &why) {
    return Status(code, "tensor '" + tensor + "' lies in the file '" +
                            location + "': " + why);
  };
  if (location.empty() || location.find('\0') != std::string::npos) {
    return fail(ExitCode::Invalid, "that is no file name");
  }
  if (descriptor_ < 0) {
    descriptor_ = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  std::string name = folder_ == "." ? location : folder_ + location;
  int file = openBeneath(descriptor_, location);
  if (file < 0 && errno == ENOENT) {
    store_.addAbsent(name);
    opened_[location] = name;
    return name;
  }
  if (file < 0) {
    if (errno == EXDEV || errno == ELOOP) {
      return fail(ExitCode::Invalid,
                  "it leads out of the model's folder '" + folder_ +
                      "', beneath which external data must lie; copy the file "
                      "there and name it relative to the model");
    }
    return fail(ExitCode::File, std::strerror(errno));
  }
  auto mapping = MappedFile::fromDescriptor(file, name);
  ::close(file);
  if (!mapping) {
    return mapping.status();
  }
  store_.addFile(name, *mapping);
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
    return Status(data.status().code(),
                  "tensor '" + tensor + "': " + data.status().message());
  }
  return range;
}
