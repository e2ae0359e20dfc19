//===- EntryInputs.h - Whether tensors fit an entry -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_ENTRYINPUTS_H
#define DIVISI_RUNTIME_CORE_ENTRYINPUTS_H

#include "divisi/runtime/core/Session.h"

namespace divisi::rt {

/// Whether each of `got` has the type and shape of the one `expected`, of which
/// there are as many, or of its boxes; Invalid with all that have not. `role`
/// is "input" or "output".
Status checkTensors(std::span<const ValueInfo> expected,
                    std::span<const TensorArgument> got,
                    const std::string &role);

/// Whether the arguments of a run are as many as the entry has, and fit it.
Status checkArguments(const EntryInfo &entry,
                      std::span<const TensorArgument> inputs,
                      std::span<const TensorArgument> outputs);

/// Usage where other sessions have a part of an output.
Status checkWholeOutputs(const EntryInfo &entry);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_ENTRYINPUTS_H
