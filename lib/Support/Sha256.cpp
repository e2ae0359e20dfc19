//===- Sha256.cpp - The hash of sections ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace divisi;

/// The first 32 bits of the fractional parts of the cube roots of the first 64
/// primes (FIPS 180-4, 4.2.2).
static constexpr std::array<uint32_t, 64> roundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t readBigEndian(const std::byte *bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, 4);
  return __builtin_bswap32(word);
}

void Sha256::compress(const std::byte *block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = readBigEndian(block + 4 * i);
  }
  for (size_t i = 16; i < 64; ++i) {
    uint32_t s0 =
        std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 =
        std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) {
    state_[i] += added[i];
  }
}

void Sha256::update(std::span<const std::byte> bytes) {
  size_t filled = length_ % 64;
  length_ += bytes.size();
  if (filled != 0) {
    size_t taken = std::min(bytes.size(), 64 - filled);
    std::copy_n(bytes.data(), taken, pending_.data() + filled);
    bytes = bytes.subspan(taken);
    if (filled + taken < 64) {
      return;
    }
    compress(pending_.data());
  }
  for (; bytes.size() >= 64; bytes = bytes.subspan(64)) {
    compress(bytes.data());
  }
  std::copy_n(bytes.data(), bytes.size(), pending_.data());
}

std::string Sha256::finish() {
  // A one bit, zeros, and the length in bits as 8 big-endian bytes.
  uint64_t bits = length_ * 8;
  std::string tail(length_ % 64 < 56 ? 64 - length_ % 64 : 128 - length_ % 64,
                   '\0');
  tail[0] = '\x80';
  for (size_t i = 0; i < 8; ++i) {
    tail[tail.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
  }
  update(std::as_bytes(std::span<const char>(tail)));
  std::string hash;
  for (uint32_t word : state_) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      hash.push_back(static_cast<char>(word >> shift));
    }
  }
  return hash;
}

std::string Sha256::of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string Sha256::of(const std::string &bytes) {
  return of(std::as_bytes(std::span<const char>(bytes)));
}
