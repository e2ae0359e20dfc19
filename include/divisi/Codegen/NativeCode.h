//===- NativeCode.h - From regions to native code ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code generator. A region goes through three forms:
//
//   region         operators on boxes                        any machine
//   row program    passes over rows: loads, functions of     any machine
//                  elements, reductions (RowProgram.h)
//   vector loops   in scf, arith, math and vector, then      a processor
//                  LLVM's, then an object
//
// The result is a shared object that imports nothing (RowCode.h). It is the
// same for all extents, so one object serves the calls of all ranks, and all
// calls of one structure.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CODEGEN_NATIVECODE_H
#define DIVISI_CODEGEN_NATIVECODE_H

#include "divisi/Support/Status.h"
#include "divisi/Support/UserCache.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <string>

namespace divisi {

/// Whether there is code for the region of `site`, whatever its extents are.
bool generatesCode(const rt::CallSite &site);

/// All that the code for `site` depends on, beside the target: sites with equal
/// structures have one code. There is code for `site`.
std::string codeStructure(const rt::CallSite &site);

/// The object for a processor of `level` (RowCode.h). The same arguments give
/// the same bytes, whether `cache`, unless it is null, has them or not. There
/// is code for `site`. ExitCode::Internal where LLVM makes of it what must not
/// be in an object.
Expected<std::string> generateCode(const rt::CallSite &site,
                                   const std::string &level,
                                   const UserCache *cache = nullptr);

} // namespace divisi

#endif // DIVISI_CODEGEN_NATIVECODE_H
