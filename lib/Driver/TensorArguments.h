//===- TensorArguments.h - Tensors named on the command line ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --inputs, --expect and --shapes-from take the same, each as often as needed:
//
//   FILE        .npz, .npy or .pb, known by its content
//   FOLDER      ONNX's test data: input_0.pb ... or output_0.pb ...
//   -           a file on standard input
//   NAME=FILE   one tensor, for the input or output NAME
//
// divisi/runtime/tensors/TensorLabels.h says which tensor is which input.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TENSORARGUMENTS_H
#define DIVISI_LIB_DRIVER_TENSORARGUMENTS_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/core/GivenTensors.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>
#include <vector>

namespace divisi {

/// What the help calls such an argument.
inline constexpr char kTensorArgument[] = "FILE|FOLDER|-|NAME=FILE";

/// The tensors of all `arguments`, in order. `role`, "input" or "output", is
/// what is read of a folder. Fails as rt::readTensors does.
Expected<std::vector<rt::GivenTensor>>
readTensorArguments(llvm::ArrayRef<std::string> arguments,
                    const std::string &role);

/// The tensors of --constant, each NAME=FILE, and of the files of
/// --constants-from, by name. ExitCode::Usage for one without a name and for a
/// name that is given twice.
Expected<std::map<std::string, rt::HostTensor>>
readConstants(llvm::ArrayRef<std::string> assignments,
              llvm::ArrayRef<std::string> files);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TENSORARGUMENTS_H
