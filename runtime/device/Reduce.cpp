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

#include "divisi/runtime/device/Reduce.h"

#include "divisi/runtime/kernels/Arithmetic.h"

#include <algorithm>
#include <array>

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

template <ReduceKind kind, typename A> static A combine(A a, A b) {
  if constexpr (kind == ReduceKind::Sum) {
    return wrapAdd(a, b);
  } else if constexpr (kind == ReduceKind::Prod) {
    return wrapMul(a, b);
  } else if constexpr (kind == ReduceKind::Max) {
    return maxOf(a, b);
  } else if constexpr (kind == ReduceKind::Min) {
    return minOf(a, b);
  } else if constexpr (kind == ReduceKind::And) {
    return A(a & b);
  } else {
    return A(a | b);
  }
}

template <ReduceKind kind, typename A> static A neutral() {
  if constexpr (kind == ReduceKind::Prod) {
    return A(1);
  } else if constexpr (kind == ReduceKind::Max) {
    return lowestOf<A>();
  } else if constexpr (kind == ReduceKind::Min) {
    return highestOf<A>();
  } else if constexpr (kind == ReduceKind::And) {
    return A(~uint64_t(0));
  } else {
    return A(0);
  }
}

template <typename T, ReduceKind kind>
static void combineAll(std::span<const std::byte *const> sources,
                       int64_t offset, std::byte *result, int64_t resultOffset,
                       int64_t count) {
  // Through a block of its own: the result may be one of the sources, and f16
  // and bf16 are rounded once, when all are combined.
  using A = Computed<T>;
  constexpr int64_t blockSize = 1024;
  A block[blockSize];
  T *out = reinterpret_cast<T *>(result + resultOffset);
  for (int64_t begin = 0; begin < count; begin += blockSize) {
    int64_t size = std::min(blockSize, count - begin);
    for (size_t s = 0; s < sources.size(); ++s) {
      const T *in = reinterpret_cast<const T *>(sources[s] + offset) + begin;
      if (s == 0) {
        std::transform(in, in + size, block, load<T>);
        continue;
      }
      for (int64_t i = 0; i < size; ++i) {
        block[i] = combine<kind>(block[i], load(in[i]));
      }
    }
    std::transform(block, block + size, out + begin,
                   [](A value) { return T(value); });
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
            std::fill_n(static_cast<T *>(data), count,
                        T(neutral<kind, Computed<T>>()));
          }};
}

/// The operations among elements of type T; none where the kind has no meaning.
/// Among booleans min is and, max is or.
template <typename T> static ReduceOps opsFor(ReduceKind kind) {
  constexpr bool isFlag = std::is_same_v<T, Flag>;
  constexpr bool isLogical = isFlag || std::is_integral_v<T>;
  switch (kind) {
  case ReduceKind::Max:
    return makeOps<T, ReduceKind::Max>();
  case ReduceKind::Min:
    return makeOps<T, ReduceKind::Min>();
  case ReduceKind::Sum:
    if constexpr (!isFlag) {
      return makeOps<T, ReduceKind::Sum>();
    }
    return {};
  case ReduceKind::Prod:
    if constexpr (!isFlag) {
      return makeOps<T, ReduceKind::Prod>();
    }
    return {};
  case ReduceKind::And:
    if constexpr (isLogical) {
      return makeOps<T, ReduceKind::And>();
    }
    return {};
  case ReduceKind::Or:
    if constexpr (isLogical) {
      return makeOps<T, ReduceKind::Or>();
    }
    return {};
  }
  return {};
}

/// Of what is not computed with, the one that is not all zero bits wins.
static ReduceOps findOps(DType type, ReduceKind kind) {
  if (isStoredType(type)) {
    return kind == ReduceKind::Or ? makeOps<uint8_t, ReduceKind::Or>()
                                  : ReduceOps();
  }
  ReduceOps ops;
  dispatch<Comparable>(type,
                       [&](auto zero) { ops = opsFor<decltype(zero)>(kind); });
  return ops;
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
