//===- EntryInputs.h - Whether tensors fit an entry -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_ENTRYINPUTS_H
#define DIVISI_RUNTIME_CORE_ENTRYINPUTS_H

#include "divisi/runtime/Session.h"

namespace divisi::rt {

/// Whether each of `got` has the type and shape of the one `expected`, of which
/// there are as many; Invalid with all that have not. `role` is "input" or
/// "output".
Status checkTensors(std::span<const ValueInfo> expected,
                    std::span<const HostTensor> got, const std::string &role);

/// Whether `inputs` are as many as the entry takes, and fit it.
Status checkInputs(const EntryInfo &entry, std::span<const HostTensor> inputs);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_ENTRYINPUTS_H
