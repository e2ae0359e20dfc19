//===- Description.cpp - A session described in JSON ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Description.h"
#include "divisi/Support/JsonOutput.h"

#include <iterator>

using namespace divisi;
using namespace divisi::rt;

static void addText(std::string &out, std::string_view name,
                    std::string_view value) {
  out += "\"" + std::string(name) + "\": ";
  writeJsonString(out, value);
}

static void addNumber(std::string &out, std::string_view name, int64_t value) {
  out += "\"" + std::string(name) + "\": " + std::to_string(value);
}

static void addCollectives(std::string &out, const CollectiveUses &uses) {
  out += "\"collectives\": ";
  writeJsonList(out, uses.size(), [&](size_t i) {
    const auto &[kind, use] = *std::next(uses.begin(), ptrdiff_t(i));
    out += "{";
    addText(out, "kind", kind);
    addNumber(out += ", ", "steps", use.steps);
    addNumber(out += ", ", "bytes", use.bytes);
    addNumber(out += ", ", "queued", use.queued);
    out += "}";
  });
}

static void addRanks(std::string &out, const Session &session,
                     const std::string &entry) {
  std::vector<StateBytes> state = session.stateBytes(entry);
  std::vector<SpaceCopies> copies = session.spaceCopies(entry);
  std::vector<int64_t> waiting = session.waitingTimes(entry);
  std::vector<CollectiveUses> collectives = session.collectives(entry);
  out += "\"ranks\": ";
  std::span<const uint32_t> ranks = session.localRanks();
  writeJsonList(out, ranks.size(), [&](size_t i) {
    uint32_t rank = ranks[i];
    out += "{";
    addNumber(out, "rank", rank);
    addNumber(out += ", ", "waiting_ns", waiting[rank]);
    addNumber(out += ", ", "state_in_place_bytes", state[rank].inPlace);
    addNumber(out += ", ", "state_copied_bytes", state[rank].copied);
    addNumber(out += ", ", "space_copies_bytes", copies[rank].bytes);
    addCollectives(out += ", ", collectives[rank]);
    out += "}";
  });
}

static void addKernels(std::string &out, const std::vector<KernelCalls> &all,
                       const std::string &entry) {
  std::vector<const KernelCalls *> calls;
  for (const KernelCalls &row : all) {
    if (row.entry == entry) {
      calls.push_back(&row);
    }
  }
  out += "\"kernels\": ";
  writeJsonList(out, calls.size(), [&](size_t i) {
    out += "{";
    addNumber(out, "rank", calls[i]->rank);
    addText(out += ", ", "operator", calls[i]->op);
    addText(out += ", ", "backend", calls[i]->backend);
    addNumber(out += ", ", "calls", calls[i]->calls);
    out += "}";
  });
}

std::string divisi::rt::describeSession(const Session &session) {
  std::string out = "{\"schema_version\": 1, \"native_code\": {";
  const NativeCodeUse &code = session.nativeCode();
  addNumber(out, "codes", code.codes);
  addNumber(out += ", ", "bytes", code.bytes);
  addText(out += ", ", "refused", code.refused);
  out += "}, \"entries\": ";
  std::vector<KernelCalls> calls = session.kernelCalls();
  writeJsonList(out, session.entries().size(), [&](size_t i) {
    const std::string &name = session.entries()[i].name;
    out += "{";
    addText(out, "name", name);
    addKernels(out += ", ", calls, name);
    addRanks(out += ", ", session, name);
    out += "}";
  });
  return out + "}";
}
