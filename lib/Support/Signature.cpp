//===- Signature.cpp - Who vouches for native code ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Signature.h"

#include "divisi/Support/SecretFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/Support/UserKey.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sodium.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;

static_assert(publicKeyBytes == crypto_sign_PUBLICKEYBYTES &&
              signatureBytes == crypto_sign_BYTES);

/// What a line begins with: the kind of key.
static constexpr std::string_view kKind = "divisi-ed25519";
/// Nobody trusts as many.
static constexpr size_t mostBytes = 1 << 20;

// What is called here keeps no state, so nobody calls sodium_init(), which is
// for random numbers and for choosing among implementations of other functions.

static const unsigned char *bytesOf(const std::string &text) {
  return reinterpret_cast<const unsigned char *>(text.data());
}

namespace {

/// Both keys of a secret, which are gone with it.
struct KeyPair {
  explicit KeyPair(const std::string &secret) {
    crypto_sign_seed_keypair(publicKey, secretKey, bytesOf(secret));
  }
  ~KeyPair() { sodium_memzero(secretKey, sizeof(secretKey)); }

  unsigned char publicKey[crypto_sign_PUBLICKEYBYTES];
  unsigned char secretKey[crypto_sign_SECRETKEYBYTES];
};

} // namespace

std::string divisi::publicKeyOf(const std::string &secret) {
  KeyPair keys(secret);
  return {reinterpret_cast<const char *>(keys.publicKey), publicKeyBytes};
}

std::string divisi::sign(const std::string &secret, const std::string &text) {
  KeyPair keys(secret);
  std::string signature(signatureBytes, '\0');
  crypto_sign_detached(reinterpret_cast<unsigned char *>(signature.data()),
                       nullptr, bytesOf(text), text.size(), keys.secretKey);
  return signature;
}

bool divisi::isSignature(const std::string &publicKey, const std::string &text,
                         const std::string &signature) {
  return publicKey.size() == publicKeyBytes &&
         signature.size() == signatureBytes &&
         crypto_sign_verify_detached(bytesOf(signature), bytesOf(text),
                                     text.size(), bytesOf(publicKey)) == 0;
}

//===----------------------------------------------------------------------===//
// Files of keys
//===----------------------------------------------------------------------===//

std::string divisi::publicKeyText(const std::string &publicKey) {
  return std::string(kKind) + " " + toHex(publicKey);
}

std::string divisi::trustedKeysPath() {
  return SecretFile{"trusted.keys", ""}.path();
}

template <typename... Parts>
static Status failure(const std::string &path, ExitCode code,
                      const Parts &...parts) {
  return makeError(code, "the file of trusted keys '", path, "' ", parts...);
}

/// Nobody but this user or root may say whom this user trusts.
static Expected<std::string> readOwnFile(const std::string &path) {
  // Nobody waits for who may write to a pipe.
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    return failure(path, ExitCode::File,
                   "cannot be read: ", std::strerror(errno));
  }
  struct stat facts = {};
  std::string text(mostBytes + 1, '\0');
  bool isKnown = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  ssize_t bytes = isKnown ? ::read(file, text.data(), text.size()) : 0;
  int reason = errno;
  close(file);
  if (bytes < 0) {
    return failure(path, ExitCode::File,
                   "cannot be read: ", std::strerror(reason));
  }
  if (!isKnown || (facts.st_uid != geteuid() && facts.st_uid != 0) ||
      (facts.st_mode & 022) != 0) {
    return failure(path, ExitCode::Invalid,
                   "is not a file that this user or root alone may write; "
                   "expected mode 0644 or less");
  }
  if (size_t(bytes) > mostBytes) {
    return failure(path, ExitCode::Invalid, "has more than ", mostBytes,
                   " bytes");
  }
  text.resize(size_t(bytes));
  return text;
}

static std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  size_t begin = text.find_first_not_of(blank);
  return begin == text.npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

static std::optional<TrustedKey> parseKey(std::string_view line) {
  if (!line.starts_with(kKind)) {
    return std::nullopt;
  }
  std::string_view rest = trim(line.substr(kKind.size()));
  size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  TrustedKey key{std::string(publicKeyBytes, '\0'),
                 std::string(trim(rest.substr(end)))};
  size_t length = 0;
  bool isKey =
      sodium_hex2bin(reinterpret_cast<unsigned char *>(key.publicKey.data()),
                     publicKeyBytes, rest.data(), end, nullptr, &length,
                     nullptr) == 0 &&
      end == 2 * publicKeyBytes && length == publicKeyBytes;
  return isKey ? std::optional(key) : std::nullopt;
}

Expected<std::vector<TrustedKey>>
divisi::readTrustedKeys(const std::string &path) {
  Expected<std::string> text = readOwnFile(path);
  if (!text) {
    return text.status();
  }
  std::vector<TrustedKey> keys;
  size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::optional<TrustedKey> key = parseKey(line);
    if (!key) {
      return failure(path, ExitCode::Invalid, "has no key in line ", number,
                     ": expected '", kKind,
                     "' and 64 hexadecimal digits, as 'divisi key' prints it");
    }
    keys.push_back(std::move(*key));
  }
  return keys;
}

Expected<TrustedCode> divisi::readTrust(const std::string &file) {
  TrustedCode trust;
  if (Expected<std::string> key = readUserKey(KeyUse::Signing)) {
    trust.publicKeys.push_back(publicKeyOf(*key));
  } else {
    trust.noKey = key.status().message();
  }
  std::string always = trustedKeysPath();
  bool hasAlways = access(always.c_str(), F_OK) == 0;
  for (const std::string &path : {file, hasAlways ? always : std::string()}) {
    if (path.empty()) {
      continue;
    }
    Expected<std::vector<TrustedKey>> keys = readTrustedKeys(path);
    if (!keys) {
      return keys.status();
    }
    for (const TrustedKey &key : *keys) {
      trust.publicKeys.push_back(key.publicKey);
    }
  }
  return trust;
}
