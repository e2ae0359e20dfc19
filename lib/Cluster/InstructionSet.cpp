//===- InstructionSet.cpp - What processors can execute -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;

static constexpr InstructionSet kSets[] = {
    {"sse41", "", false, 0x1},
    {"avx", "", false, 0x3},
    {"avx2", "x86-64-v3", false, 0x7},
    {"avx2_vnni", "x86-64-v3", true, 0xf},
    {"avx2_vnni_2", "x86-64-v3", true, 0x1f},
    {"avx512_core", "x86-64-v4", false, 0x27},
    {"avx512_core_vnni", "x86-64-v4", true, 0x67},
    {"avx512_core_bf16", "x86-64-v4", true, 0xe7},
    {"avx512_core_fp16", "x86-64-v4", true, 0x1ef},
    {"avx512_core_amx", "x86-64-v4", true, 0xfef},
    {"avx512_core_amx_fp16", "x86-64-v4", true, 0x1fef},
};

llvm::ArrayRef<InstructionSet> divisi::instructionSets() { return kSets; }

const InstructionSet *divisi::findInstructionSet(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kSets, [&](const InstructionSet &set) { return set.name == name; });
  return found == std::end(kSets) ? nullptr : found;
}

llvm::StringRef divisi::commonInstructionSet(llvm::StringRef a,
                                             llvm::StringRef b) {
  const InstructionSet *one = findInstructionSet(a);
  const InstructionSet *other = findInstructionSet(b);
  llvm::StringRef most;
  for (const InstructionSet &set : kSets) {
    if (one && other && (set.parts & ~(one->parts & other->parts)) == 0) {
      most = set.name;
    }
  }
  return most;
}
