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
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

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

using HashState = std::array<uint32_t, 8>;

static void compressBlock(HashState &state, const std::byte *block) {
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
  auto [a, b, c, d, e, f, g, h] = state;
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
    state[i] += added[i];
  }
}

#if defined(__x86_64__)
static bool hasInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

/// The same by the processor's instructions for it, five times as fast. They
/// want the state as two registers, (A B E F) and (C D G H), and do two rounds
/// at once.
__attribute__((target("sha,sse4.1"))) static void
compressByInstructions(HashState &state, std::span<const std::byte> blocks) {
  auto load = [](const void *from) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
  };
  const __m128i bigEndian =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abcd = _mm_shuffle_epi32(load(&state[0]), 0xb1);
  __m128i efgh = _mm_shuffle_epi32(load(&state[4]), 0x1b);
  __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
  for (; !blocks.empty(); blocks = blocks.subspan(64)) {
    __m128i abefBefore = abef, cdghBefore = cdgh;
    __m128i w[4];
    for (size_t i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(load(blocks.data() + 16 * i), bigEndian);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {
      __m128i &now = w[i % 4];
      __m128i sum = _mm_add_epi32(now, load(&roundConstants[4 * i]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      // The words that the same register holds four steps later.
      __m128i last = w[(i + 3) % 4];
      __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]),
                                   _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
      now = _mm_sha256msg2_epu32(next, last);
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  auto store = [](void *to, __m128i value) {
    std::memcpy(to, &value, sizeof(value));
  };
  store(&state[0], _mm_blend_epi16(feba, dchg, 0xf0));
  store(&state[4], _mm_alignr_epi8(dchg, feba, 8));
}
#else
static bool hasInstructions() { return false; }
static void compressByInstructions(HashState &, std::span<const std::byte>) {}
#endif

Sha256::Sha256(bool isPortable)
    : isPortable_(isPortable || !hasInstructions()) {}

/// `blocks` are of 64 bytes each.
void Sha256::compress(std::span<const std::byte> blocks) {
  if (!isPortable_) {
    compressByInstructions(state_, blocks);
    return;
  }
  for (; !blocks.empty(); blocks = blocks.subspan(64)) {
    compressBlock(state_, blocks.data());
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
    compress(pending_);
  }
  size_t whole = bytes.size() / 64 * 64;
  compress(bytes.first(whole));
  bytes = bytes.subspan(whole);
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

std::string divisi::toHex(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}
