//===- Crc32c.cpp - The checksum of chunks --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction takes three cycles, and a new one may begin in each: chunks
// that are summed side by side take hardly longer than one.
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

using namespace divisi;

using SumChunks = void (*)(const std::byte *data, size_t chunkBytes,
                           uint32_t *sums);

/// Row k: what a byte does to the sum that k more bytes come after.
static constexpr auto tables = [] {
  constexpr uint32_t polynomial = 0x82f63b78; // bits reversed
  std::array<std::array<uint32_t, 256>, 8> rows = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1) ^ (sum & 1 ? polynomial : 0);
    }
    rows[0][byte] = sum;
  }
  for (size_t row = 1; row < 8; ++row) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t before = rows[row - 1][byte];
      rows[row][byte] = (before >> 8) ^ rows[0][before & 0xff];
    }
  }
  return rows;
}();

static void sumByTables(const std::byte *data, size_t chunkBytes,
                        uint32_t *sums) {
  uint32_t sum = ~0u;
  size_t i = 0;
  for (; i + 8 <= chunkBytes; i += 8) {
    uint64_t word = 0;
    for (size_t b = 0; b < 8; ++b) {
      word |= std::to_integer<uint64_t>(data[i + b]) << 8 * b;
    }
    word ^= sum;
    sum = 0;
    for (size_t b = 0; b < 8; ++b) {
      sum ^= tables[7 - b][word >> 8 * b & 0xff];
    }
  }
  for (; i < chunkBytes; ++i) {
    sum = (sum >> 8) ^
          tables[0][(sum ^ std::to_integer<uint32_t>(data[i])) & 0xff];
  }
  sums[0] = ~sum;
}

#if defined(__x86_64__)
#define DIVISI_CRC_TARGET __attribute__((target("sse4.2")))
#define DIVISI_CRC_WORD(sum, word) uint32_t(_mm_crc32_u64(sum, word))
#define DIVISI_CRC_BYTE _mm_crc32_u8
static bool hasInstruction() { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__)
#define DIVISI_CRC_TARGET __attribute__((target("+crc")))
#define DIVISI_CRC_WORD __crc32cd
#define DIVISI_CRC_BYTE __crc32cb
static bool hasInstruction() { return getauxval(AT_HWCAP) & (1 << 7); }
#endif

#if defined(DIVISI_CRC_TARGET)
/// Sums `Chunks` chunks, which lie one behind the other.
template <size_t Chunks>
DIVISI_CRC_TARGET static void
sumByInstruction(const std::byte *data, size_t chunkBytes, uint32_t *sums) {
  uint32_t running[Chunks];
  std::fill_n(running, Chunks, ~0u);
  size_t i = 0;
  for (; i + 8 <= chunkBytes; i += 8) {
    for (size_t c = 0; c < Chunks; ++c) {
      uint64_t word;
      std::memcpy(&word, data + c * chunkBytes + i, 8);
      running[c] = DIVISI_CRC_WORD(running[c], word);
    }
  }
  for (size_t c = 0; c < Chunks; ++c) {
    for (size_t b = i; b < chunkBytes; ++b) {
      running[c] = DIVISI_CRC_BYTE(
          running[c], std::to_integer<uint8_t>(data[c * chunkBytes + b]));
    }
    sums[c] = ~running[c];
  }
}
#endif

std::vector<uint32_t> divisi::crc32cOfChunks(std::span<const std::byte> bytes,
                                             size_t chunkBytes,
                                             bool isPortable) {
  constexpr size_t several = 4;
  SumChunks sumOne = sumByTables, sumSeveral = nullptr;
#if defined(DIVISI_CRC_TARGET)
  if (!isPortable && hasInstruction()) {
    sumOne = sumByInstruction<1>;
    sumSeveral = sumByInstruction<several>;
  }
#endif
  std::vector<uint32_t> sums((bytes.size() + chunkBytes - 1) / chunkBytes);
  for (size_t chunk = 0, done; chunk < sums.size(); chunk += done) {
    size_t begin = chunk * chunkBytes, left = bytes.size() - begin;
    if (sumSeveral && left >= several * chunkBytes) {
      done = several;
      sumSeveral(bytes.data() + begin, chunkBytes, &sums[chunk]);
    } else {
      done = 1;
      sumOne(bytes.data() + begin, std::min(left, chunkBytes), &sums[chunk]);
    }
  }
  return sums;
}
