//===- CodeCache.h - A cache of generated code ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CODEGEN_CODECACHE_H
#define DIVISI_CODEGEN_CODECACHE_H

#include <cstdint>
#include <optional>
#include <string>

namespace divisi {

/// Objects by a hash of what they were made from, in the user's folder for
/// caches: $XDG_CACHE_HOME/divisi/native, by default beneath ~/.cache. Each
/// carries an HMAC by the user's key (UserKey.h): what somebody else has put
/// there is none. Where there is no key, or no folder, nothing is kept.
class CodeCache {
public:
  /// What there may be in all; then the oldest go.
  static constexpr int64_t mostBytes = 64 << 20;

  /// Of the user who runs; a key is made if there is none.
  CodeCache();
  /// Of `source`, all that the object depends on.
  std::optional<std::string> find(const std::string &source) const;
  /// Keeps `code` for it, if that can be done.
  void keep(const std::string &source, const std::string &code) const;

private:
  std::string fileOf(const std::string &source) const;
  std::string macOf(const std::string &source, const std::string &code) const;
  void dropOldest() const;

  std::string folder_, key_; ///< Empty: there is no cache.
};

} // namespace divisi

#endif // DIVISI_CODEGEN_CODECACHE_H
