//===- ErrorAgainst.h - Errors of a quantized model -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two runs of a quantized model differ where a number lies between two codes,
// and what follows differs more. Neither is right: what the model stands for is
// the float model that it was made from. So its outputs may be as far from
// those of the float model as the expected ones are, and somewhat more:
//
//   float model   f     --against
//   expected      e     --expect, or one device
//   computed      c
//
//   |c - f| <= (1 + 0.25) |e - f| + 0.005 |f|       by the Euclidean norm
//
// A quarter is what two draws of some ten rounding errors differ by; 0.005 is for
// expected outputs that no rounding has moved.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_ERRORAGAINST_H
#define DIVISI_LIB_DRIVER_ERRORAGAINST_H

#include "Sessions.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/core/Session.h"

#include <string>
#include <vector>

namespace divisi {

/// How far an output is from that of the float model. Of floats: the norm of
/// the difference as a share of the float model's; of others: the share of the
/// elements that differ. Infinite where one has a number and the other none.
struct ErrorAgainst {
  std::string model;   ///< The float model's file.
  double error = 0;    ///< Of what was computed.
  double expected = 0; ///< Of what is expected.
  double allowed = 0;  ///< The most that `error` may be.

  /// Whether it is no more.
  bool isAllowed() const { return error <= allowed; }
};

/// The errors of `got` and `expected` where the float model `model` gives
/// `exact`. All have one shape.
ErrorAgainst compareErrors(const rt::HostTensor &got,
                           const rt::HostTensor &expected,
                           const rt::HostTensor &exact,
                           const std::string &model);

/// What the float model `exact` gives for each of `outputs` where the quantized
/// model `quantized` takes `inputs`. It has been imported for their shapes.
/// Fails with Invalid unless it has outputs of these names and shapes, floats
/// where these are, and takes no other inputs.
Expected<std::vector<rt::HostTensor>>
runFloatModel(const LoadedEntry &exact, const rt::EntryInfo &quantized,
              const std::vector<rt::HostTensor> &inputs,
              const std::vector<rt::ValueInfo> &outputs);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_ERRORAGAINST_H
