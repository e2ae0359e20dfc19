//===- GridKernels.h - From regions to GPU kernels --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As NativeCode.h, for machines with blocks of threads:
//
//   region         operators on boxes                        any machine
//   row program    passes over rows (RowProgram.h)           any machine
//   mapped form    what each thread of a grid does, with     any GPU
//                  barriers and shuffles (EmitGrid.h)
//   NVVM, PTX      of NVIDIA's                               a GPU and later
//
// The mapped form can also be lowered to a host function that is run thread by
// thread (EmulatedGrid.h): tests run the form that GPUs get.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CODEGEN_GRIDKERNELS_H
#define DIVISI_CODEGEN_GRIDKERNELS_H

#include "divisi/Support/Status.h"
#include "divisi/Support/UserCache.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <string>

namespace divisi {

/// Whether there is a kernel for the region of `site`, whatever its extents
/// are, or for what is left of it behind a product (ProductRegion.h).
bool generatesGridKernel(const rt::CallSite &site);

/// All that the kernel for `site` depends on, beside the target: sites with
/// equal structures have one kernel. There is one for `site`.
std::string gridStructure(const rt::CallSite &site);

/// The kernel (GridCode.h) for a target of isGridTarget(): in PTX, or, for the
/// emulator, as an EmulatedHeader and a shared object of this host which
/// imports nothing. The same arguments give the same bytes, whether `cache`,
/// unless it is null, has them or not. There is one for `site`.
/// ExitCode::Internal where LLVM makes none.
Expected<std::string> generateGridKernel(const rt::CallSite &site,
                                         const std::string &target,
                                         const UserCache *cache = nullptr);

} // namespace divisi

#endif // DIVISI_CODEGEN_GRIDKERNELS_H
