//===- UserCache.h - The user's cache of what was made ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_USERCACHE_H
#define DIVISI_SUPPORT_USERCACHE_H

#include <cstdint>
#include <optional>
#include <string>

namespace divisi {

/// What was made of something, by a hash of that, in the user's folder for
/// caches: $XDG_CACHE_HOME/divisi/KIND, by default beneath ~/.cache. Each entry
/// carries an HMAC by the user's key (UserKey.h): what somebody else has put
/// there is none. Where there is no key, or no folder, nothing is kept.
class UserCache {
public:
  /// What there may be of one kind in all; then the oldest go.
  static constexpr int64_t mostBytes = 64 << 20;

  /// Of the user who runs, of such entries: "native" is code, "proofs" are
  /// proofs of rules. A key is made if there is none.
  explicit UserCache(std::string kind);
  /// What was made of `source`, which is all that it depends on.
  std::optional<std::string> find(const std::string &source) const;
  /// Keeps `made` for it, if that can be done.
  void keep(const std::string &source, const std::string &made) const;

private:
  std::string fileOf(const std::string &source) const;
  std::string macOf(const std::string &source, const std::string &made) const;
  void dropOldest() const;

  std::string kind_, folder_, key_; ///< No key: there is no cache.
};

} // namespace divisi

#endif // DIVISI_SUPPORT_USERCACHE_H
