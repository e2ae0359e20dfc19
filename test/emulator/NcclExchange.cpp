//===- NcclExchange.cpp - What emulated collectives do --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclExchange.h"

#include "test/emulator/Gpu.h"

#include "divisi/runtime/device/Reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace divisi::emulator;
namespace rt = divisi::rt;

namespace {

struct TypeName {
  ncclDataType_t type;
  rt::DType as;
};
struct ReductionName {
  ncclRedOp_t reduction;
  rt::ReduceKind as;
};

} // namespace

static std::optional<rt::DType> typeOf(ncclDataType_t type) {
  static constexpr TypeName names[] = {
      {ncclInt8, rt::DType::I8},     {ncclUint8, rt::DType::U8},
      {ncclInt32, rt::DType::I32},   {ncclUint32, rt::DType::U32},
      {ncclInt64, rt::DType::I64},   {ncclUint64, rt::DType::U64},
      {ncclFloat16, rt::DType::F16}, {ncclFloat32, rt::DType::F32},
      {ncclFloat64, rt::DType::F64}, {ncclBfloat16, rt::DType::BF16},
  };
  auto found = std::ranges::find(names, type, &TypeName::type);
  return found == std::end(names) ? std::nullopt : std::optional(found->as);
}

static std::optional<rt::ReduceKind> kindOf(ncclRedOp_t reduction) {
  static constexpr ReductionName names[] = {{ncclSum, rt::ReduceKind::Sum},
                                            {ncclProd, rt::ReduceKind::Prod},
                                            {ncclMax, rt::ReduceKind::Max},
                                            {ncclMin, rt::ReduceKind::Min}};
  auto found = std::ranges::find(names, reduction, &ReductionName::reduction);
  return found == std::end(names) ? std::nullopt : std::optional(found->as);
}

size_t divisi::emulator::widthOf(ncclDataType_t type) {
  auto as = typeOf(type);
  return as ? size_t(rt::byteWidth(*as)) : 0;
}

/// Not the largest of floats, of which NCCL drops NaN.
bool divisi::emulator::combines(ncclDataType_t type, ncclRedOp_t reduction) {
  auto as = typeOf(type);
  auto kind = kindOf(reduction);
  bool isBound = reduction == ncclMax || reduction == ncclMin;
  return as && kind && !(isBound && rt::isFloatType(*as));
}

const char *divisi::emulator::nameOf(NcclKind kind) {
  static constexpr const char *names[] = {"ncclAllReduce", "ncclReduceScatter",
                                          "ncclReduce",    "ncclAllGather",
                                          "ncclSend",      "ncclRecv"};
  return names[size_t(kind)];
}

bool divisi::emulator::isMessage(NcclKind kind) {
  return kind == NcclKind::Send || kind == NcclKind::Recv;
}

std::byte *divisi::emulator::bytesAt(uint64_t address, size_t bytes) {
  return bytes == 0 ? nullptr : gpus().find(address, bytes);
}

/// Combines what all have from element `begin` of their sources on. In which
/// order depends on the place, as it does for rings.
static void combineAll(const std::map<int, NcclPart> &parts, size_t begin,
                       size_t count, std::byte *result) {
  const NcclCall &first = parts.begin()->second.call;
  rt::CombineFn combine =
      rt::findCombine(*typeOf(first.type), *kindOf(first.reduction));
  size_t width = widthOf(first.type);
  constexpr size_t chunk = 32;
  std::vector<const std::byte *> sources;
  for (const auto &[rank, part] : parts) {
    sources.push_back(part.source + begin * width);
  }
  std::vector<std::byte> sum(chunk * width);
  for (size_t at = 0; at < count; at += chunk) {
    size_t size = std::min(chunk, count - at);
    size_t start = (begin + at) / chunk % sources.size();
    std::memcpy(sum.data(), sources[start] + at * width, size * width);
    for (size_t i = 1; i < sources.size(); ++i) {
      std::array<const std::byte *, 2> both = {
          sum.data(), sources[(start + i) % sources.size()] + at * width};
      combine(both, 0, sum.data(), 0, int64_t(size));
    }
    std::memcpy(result + at * width, sum.data(), size * width);
  }
}

/// What comes of the sources: all parts of it, where each rank gets another.
static std::vector<std::byte> resultOf(const std::map<int, NcclPart> &parts) {
  const NcclCall &first = parts.begin()->second.call;
  size_t bytes = first.count * widthOf(first.type);
  std::vector<std::byte> all;
  if (first.kind == NcclKind::AllGather) {
    for (const auto &[rank, part] : parts) {
      all.insert(all.end(), part.source, part.source + bytes);
    }
    return all;
  }
  size_t results = first.kind == NcclKind::ReduceScatter ? parts.size() : 1;
  all.resize(bytes * results);
  for (size_t i = 0; i < results; ++i) {
    combineAll(parts, i * first.count, first.count, all.data() + i * bytes);
  }
  return all;
}

static void write(const NcclCall &call, const std::byte *from, size_t bytes) {
  if (bytes != 0) {
    std::memcpy(bytesAt(call.result, bytes), from, bytes);
  }
}

static void sendMessage(const std::map<int, NcclPart> &parts,
                        std::optional<int> self) {
  const NcclPart *sender = nullptr;
  for (const auto &[rank, part] : parts) {
    sender = part.call.kind == NcclKind::Send ? &part : sender;
  }
  for (const auto &[rank, part] : parts) {
    if (&part != sender && rank == self.value_or(rank)) {
      write(part.call, sender->source,
            part.call.count * widthOf(part.call.type));
    }
  }
}

void divisi::emulator::evaluate(const std::map<int, NcclPart> &parts,
                                std::optional<int> self) {
  if (isMessage(parts.begin()->second.call.kind)) {
    return sendMessage(parts, self);
  }
  std::vector<std::byte> all = resultOf(parts);
  for (const auto &[rank, part] : parts) {
    const NcclCall &call = part.call;
    bool scatters = call.kind == NcclKind::ReduceScatter;
    bool gets = call.kind != NcclKind::Reduce || call.peer == rank;
    size_t bytes = scatters ? call.count * widthOf(call.type) : all.size();
    if (gets && rank == self.value_or(rank)) {
      write(call, all.data() + (scatters ? size_t(rank) * bytes : 0), bytes);
    }
  }
}
