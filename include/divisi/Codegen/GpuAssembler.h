//===- GpuAssembler.h - NVIDIA's assembler ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX is not machine code: the driver translates it when it is loaded. If
// NVIDIA's toolkit is available, the compiler translates it, for existing GPUs,
// and keeps the PTX for later ones:
//
//   PTX for sm_80 on  --ptxas-->      cubins for sm_80, sm_90, sm_100
//   all of these      --fatbinary-->  one image, of which the driver takes what
//                                     fits the GPU
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CODEGEN_GPUASSEMBLER_H
#define DIVISI_CODEGEN_GPUASSEMBLER_H

#include "divisi/Support/Status.h"
#include "divisi/Support/UserCache.h"

#include <span>
#include <string>
#include <vector>

namespace divisi {

/// `ptxas` and `fatbinary` of this machine.
class GpuAssembler {
public:
  /// Those of $CUDA_HOME/bin, /usr/local/cuda/bin where nothing is set, or else
  /// of PATH.
  /// ExitCode::Unsupported where one is missing or does not run.
  static Expected<GpuAssembler> find();

  /// For which GPUs ("sm_90") there are cubins of PTX for `architecture`: for
  /// that one, and later ones of sm_80, sm_90 and sm_100, as far as ptxas knows
  /// them.
  std::vector<std::string> targets(const std::string &architecture) const;

  /// The images of kernels in `ptx` for `architecture`, with cubins for what
  /// targets() says, made by as many threads as there are cores. Those that
  /// `cache` has, null being none, are not made again. The same bytes each
  /// time. ExitCode::Internal for what ptxas refuses.
  Expected<std::vector<std::string>> assemble(std::span<const std::string> ptx,
                                              const std::string &architecture,
                                              const UserCache *cache) const;

private:
  Expected<std::string> assembleOne(const std::string &ptx,
                                    const std::string &architecture,
                                    const std::string &folder) const;

  std::string ptxas_, fatbinary_; ///< Their paths.
  std::string versions_;          ///< What they say of themselves.
  std::string help_;              ///< Of ptxas, with the GPUs that it knows.
};

} // namespace divisi

#endif // DIVISI_CODEGEN_GPUASSEMBLER_H
