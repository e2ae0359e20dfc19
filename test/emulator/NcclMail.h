//===- NcclMail.h - What processes leave for each other ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLMAIL_H
#define DIVISI_TEST_EMULATOR_NCCLMAIL_H

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace divisi::emulator {

/// Files of a folder, by which ranks of several processes meet: each is written
/// once, is whole when it is seen, and stays.
class NcclMail {
public:
  /// In DIVISI_EMULATOR_NCCL_FOLDER; null if that is not set, and all ranks are
  /// of this process.
  static const NcclMail *ofEnvironment();

  void post(const std::string &name, std::span<const std::byte> bytes) const;
  bool has(const std::string &name) const;
  /// Nothing while it is not there.
  std::optional<std::vector<std::byte>> read(const std::string &name) const;

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void postValue(const std::string &name, const T &value) const {
    post(name, std::as_bytes(std::span(&value, 1)));
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  std::optional<T> readValue(const std::string &name) const {
    auto bytes = read(name);
    if (!bytes) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes->data(), sizeof(T));
    return value;
  }

private:
  explicit NcclMail(std::filesystem::path folder)
      : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_NCCLMAIL_H
