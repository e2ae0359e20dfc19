//===- NcclExchange.h - What emulated collectives do ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLEXCHANGE_H
#define DIVISI_TEST_EMULATOR_NCCLEXCHANGE_H

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace divisi::emulator {

enum class NcclKind { AllReduce, ReduceScatter, Reduce, AllGather, Send, Recv };
/// Its name in messages.
const char *nameOf(NcclKind kind);

/// A call, as one rank makes it.
struct NcclCall {
  NcclKind kind;
  uint64_t source = 0, result = 0; ///< Addresses; 0: none.
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0;         ///< The root, or who is at the other end.
  uint64_t capture = 0; ///< Its number among those recorded; 0: it was not.
  bool isRegistered = false; ///< All memory that it is of.
};
bool isMessage(NcclKind kind);

/// How large elements are; 0 of what is not emulated.
size_t widthOf(ncclDataType_t type);
/// Whether elements can be combined so.
bool combines(ncclDataType_t type, ncclRedOp_t reduction);

/// Where bytes of a device are; null of none.
std::byte *bytesAt(uint64_t address, size_t bytes);

/// What a rank brings.
struct NcclPart {
  NcclCall call;
  const std::byte *source; ///< Its bytes.
};

/// Writes what comes of calls that fit, by rank: the result of `self`, or all.
/// All sources are read before a result is written, which may be one of them.
void evaluate(const std::map<int, NcclPart> &parts,
              std::optional<int> self = std::nullopt);

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_NCCLEXCHANGE_H
