//===- VerifyOperators.cpp - What calls compute ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyProgram.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

static Status findKernel(const pb::Operator &wanted, std::string_view space,
                         std::span<const Backend *const> backends) {
  std::ostringstream versions;
  for (const Backend *backend : backends) {
    if (backend->space() != space) {
      continue;
    }
    for (const Kernel &kernel : backend->kernels()) {
      if (kernel.op != wanted.op()) {
        continue;
      }
      if (kernel.version == static_cast<int>(wanted.version())) {
        return {};
      }
      versions << " " << kernel.version;
    }
  }
  if (versions.str().empty()) {
    return makeError(ExitCode::Unsupported, "no backend in use has a kernel '",
                     wanted.op(), "'",
                     space == hostSpace
                         ? ""
                         : " for memory space '" + std::string(space) + "'");
  }
  return makeError(ExitCode::Unsupported, "version ", wanted.version(),
                   " of kernel '", wanted.op(), "' is called, there is",
                   versions.str(), "; compile the model again");
}

/// Whether some backend knows it. Who knows `fused` is asked at load whether it
/// takes these parts.
Status ProgramVerifier::verifyOperator(const pb::Call &call) const {
  return findKernel(*resolved_.operatorOf(call).message,
                    nameOfSpace(*resolved_.manifest, call.space()), backends_);
}

/// Whether what the parts make lies as the call's results do.
Status ProgramVerifier::verifyParts(const pb::Call &call) const {
  const ResolvedOperator &what = resolved_.operatorOf(call);
  for (int r = 0; !what.parts.empty() && r < call.results_size(); ++r) {
    if (!(what.placement(what.message->results(r)) ==
          placement(call.results(r)))) {
      return makeError(ExitCode::Invalid, "result ", r,
                       " does not have the layout of its parts' result");
    }
  }
  return {};
}
