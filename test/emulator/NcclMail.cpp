//===- NcclMail.cpp - What processes leave for each other -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclMail.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace divisi::emulator;

const NcclMail *NcclMail::ofEnvironment() {
  static const auto mail = [] {
    const char *folder = std::getenv("DIVISI_EMULATOR_NCCL_FOLDER");
    return folder ? std::optional(NcclMail(folder)) : std::nullopt;
  }();
  return mail ? &*mail : nullptr;
}

void NcclMail::post(const std::string &name,
                    std::span<const std::byte> bytes) const {
  std::filesystem::path unfinished =
      folder_ / (name + ".unfinished." + std::to_string(getpid()));
  std::ofstream file(unfinished, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  file.close();
  std::error_code wrong;
  std::filesystem::rename(unfinished, folder_ / name, wrong);
  if (!file || wrong) {
    std::fprintf(stderr, "emulator: '%s' can't be written\n",
                 (folder_ / name).c_str());
    std::abort();
  }
}

bool NcclMail::has(const std::string &name) const {
  return std::filesystem::exists(folder_ / name);
}

std::optional<std::vector<std::byte>>
NcclMail::read(const std::string &name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}
