//===- Reduce.cpp - Combining partial values ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values combine in the order of the sources whatever the rank, the chunk or
// the block they stand in, so two runs and two ranks get the same bits.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/Reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace divisi::rt;

static constexpr std::array<std::string_view, 6> reduceNames = {
    "sum", "prod", "max", "min", "and", "or"};

std::string_view divisi::rt::stringify(ReduceKind kind) {
  return reduceNames[static_cast<size_t>(kind)];
}

std::optional<ReduceKind> divisi::rt::parseReduceKind(std::string_view name) {
  for (size_t i = 0; i < reduceNames.size(); ++i) {
    if (reduceNames[i] == name) {
      return static_cast<ReduceKind>(i);
    }
  }
  return std::nullopt;
}

/// Integers wrap around, which only unsigned ones may do in C++. Small ones
/// would be promoted to int and overflow there.
template <typename T> static auto wrapping(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <typename T, ReduceKind kind> static T combine(T a, T b) {
  if constexpr (kind == ReduceKind::Sum) {
    return static_cast<T>(wrapping(a) + wrapping(b));
  } else if constexpr (kind == ReduceKind::Prod) {
    return static_cast<T>(wrapping(a) * wrapping(b));
  } else if constexpr (kind == ReduceKind::Max) {
    return b > a || b != b ? b : a; // a NaN stays
  } else if constexpr (kind == ReduceKind::Min) {
    return b < a || b != b ? b : a;
  } else if constexpr (kind == ReduceKind::And) {
    return a & b;
  } else {
    return a | b;
  }
}

template <typename T, ReduceKind kind> static T neutral() {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  using Limits = std::numeric_limits<T>;
  if constexpr (kind == ReduceKind::Prod) {
    return T(1);
  } else if constexpr (kind == ReduceKind::Max) {
    return isFloat ? -Limits::infinity() : Limits::lowest();
  } else if constexpr (kind == ReduceKind::Min) {
    return isFloat ? Limits::infinity() : Limits::max();
  } else if constexpr (kind == ReduceKind::And) {
    return static_cast<T>(~uint64_t(0));
  } else {
    return T(0);
  }
}

template <typename T, ReduceKind kind>
static void combineAll(std::span<const std::byte *const> sources,
                       int64_t offset, std::byte *result, int64_t resultOffset,
                       int64_t count) {
  // Through a block of its own: the result may be one of the sources.
  constexpr int64_t blockSize = 1024;
  T block[blockSize];
  T *out = reinterpret_cast<T *>(result + resultOffset);
  for (int64_t begin = 0; begin < count; begin += blockSize) {
    int64_t size = std::min(blockSize, count - begin);
    for (size_t s = 0; s < sources.size(); ++s) {
      const T *in = reinterpret_cast<const T *>(sources[s] + offset) + begin;
      if (s == 0) {
        std::copy_n(in, size, block);
        continue;
      }
      for (int64_t i = 0; i < size; ++i) {
        block[i] = combine<T, kind>(block[i], in[i]);
      }
    }
    std::copy_n(block, size, out + begin);
  }
}

namespace {

struct ReduceOps {
  CombineFn combine = nullptr;
  void (*fill)(void *data, int64_t count) = nullptr;
};

} // namespace

template <typename T, ReduceKind kind> static ReduceOps makeOps() {
  return {combineAll<T, kind>, [](void *data, int64_t count) {
            std::fill_n(static_cast<T *>(data), count, neutral<T, kind>());
          }};
}

template <typename T> static ReduceOps arithmeticOps(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return makeOps<T, ReduceKind::Sum>();
  case ReduceKind::Prod:
    return makeOps<T, ReduceKind::Prod>();
  case ReduceKind::Max:
    return makeOps<T, ReduceKind::Max>();
  case ReduceKind::Min:
    return makeOps<T, ReduceKind::Min>();
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>) {
    return kind == ReduceKind::And ? makeOps<T, ReduceKind::And>()
                                   : makeOps<T, ReduceKind::Or>();
  }
  return {};
}

/// A boolean is a byte of 0 or 1, so that `and` and `or` stay bitwise; the
/// neutral element of `and` is 1.
static ReduceOps booleanOps(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::And:
  case ReduceKind::Min:
    return {combineAll<uint8_t, ReduceKind::And>,
            [](void *data, int64_t count) { std::memset(data, 1, count); }};
  case ReduceKind::Or:
  case ReduceKind::Max:
    return makeOps<uint8_t, ReduceKind::Or>();
  default:
    return {};
  }
}

static ReduceOps findOps(DType type, ReduceKind kind) {
  switch (type) {
  case DType::F64:
    return arithmeticOps<double>(kind);
  case DType::F32:
    return arithmeticOps<float>(kind);
  case DType::I8:
    return arithmeticOps<int8_t>(kind);
  case DType::I16:
    return arithmeticOps<int16_t>(kind);
  case DType::I32:
    return arithmeticOps<int32_t>(kind);
  case DType::I64:
    return arithmeticOps<int64_t>(kind);
  case DType::U8:
    return arithmeticOps<uint8_t>(kind);
  case DType::U16:
    return arithmeticOps<uint16_t>(kind);
  case DType::U32:
    return arithmeticOps<uint32_t>(kind);
  case DType::U64:
    return arithmeticOps<uint64_t>(kind);
  case DType::Bool:
    return booleanOps(kind);
  case DType::F16:
  case DType::BF16:
    break; // no kernel makes them yet, so none is ever partial
  }
  return {};
}

CombineFn divisi::rt::findCombine(DType type, ReduceKind kind) {
  return findOps(type, kind).combine;
}

void divisi::rt::fillNeutral(DType type, ReduceKind kind, void *data,
                             int64_t count) {
  if (auto *fill = findOps(type, kind).fill) {
    fill(data, count);
  }
}
