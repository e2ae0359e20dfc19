//===- Verify.h - Whether an artifact's programs can run --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before anything runs, every instruction is checked against what it touches:
//
//   places       all indices exist, buffers lie in their arena and hold every
//                rank's box, layouts are legal for their grids;
//   values       in the order of the list, what is read was written, and
//                nothing was written over it since; results meet live operands
//                only where that is allowed;
//   order        of two instructions that touch the same bytes, one of them
//                writing, the later begins when the earlier has ended: by queue
//                order and `after`;
//   collectives  all ranks of a grid have the same steps with the same tags;
//                each rank's result can be fetched from its group; all ranks of
//                a communicator have one order; and no two ranks wait for each
//                other: queue order, `after` and the collectives, each one
//                event for its ranks, have no cycle;
//   loops        a loop gives its body what lies as the body has it, bytes that
//                nothing else of the loop has, and room for its arena; nothing
//                is beside it; every rank of a body runs it, in one loop;
//   completeness every rank of an output's or an updated global's grid writes
//                its box of it, once;
//   kernels      every operator has a kernel of the called version.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_VERIFY_VERIFY_H
#define DIVISI_RUNTIME_VERIFY_VERIFY_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::artifact {
class Manifest;
} // namespace divisi::artifact

namespace divisi::rt {

struct ResolvedManifest;

/// Success, or what is wrong: Invalid, with entry, program and instruction, or
/// Unsupported where only a kernel is missing. `backends` are those that will
/// run it. The compiler calls it too, before it writes an artifact.
Status verifyManifest(const artifact::Manifest &manifest,
                      std::span<const Backend *const> backends);

/// The same of a manifest whose references have been found.
Status verifyResolved(const ResolvedManifest &resolved,
                      std::span<const Backend *const> backends);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_VERIFY_VERIFY_H
