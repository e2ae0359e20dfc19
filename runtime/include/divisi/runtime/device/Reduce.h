//===- Reduce.h - Combining partial values ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_DEVICE_REDUCE_H
#define DIVISI_RUNTIME_DEVICE_REDUCE_H

#include "divisi/runtime/kernels/Tensor.h"

#include <cstddef>
#include <span>

namespace divisi::rt {

/// How partial values of a tensor combine into the value.
enum class ReduceKind : uint8_t { Sum, Prod, Max, Min, And, Or };
/// `sum`, `max`, ...
std::string_view stringify(ReduceKind kind);
/// The kind of that name, or nothing.
std::optional<ReduceKind> parseReduceKind(std::string_view name);

/// Combines `count` elements at `offset` bytes of every source, in the order of
/// the sources, into `result` at `resultOffset` bytes. `result` may be one of
/// the sources at the same offset. Equal inputs give equal bits.
using CombineFn = void (*)(std::span<const std::byte *const> sources,
                           int64_t offset, std::byte *result,
                           int64_t resultOffset, int64_t count);

/// The function for elements of `type`, or null if they do not combine that
/// way: floats have no `and`, booleans only `and`, `or`, `max` and `min`, and
/// what is stored only (Element.h) `or`, of its bits.
CombineFn findCombine(DType type, ReduceKind kind);

/// Writes `count` times the element that leaves others unchanged under `kind`;
/// only for what findCombine knows.
void fillNeutral(DType type, ReduceKind kind, void *data, int64_t count);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_DEVICE_REDUCE_H
