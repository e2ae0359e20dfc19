//===- GivenTensors.h - An entry's tensors from files -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GIVENTENSORS_H
#define DIVISI_RUNTIME_CORE_GIVENTENSORS_H

#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/tensors/TensorFile.h"

namespace divisi::rt {

/// `tensors` in the order of the entry's inputs. Fails (Invalid) as
/// matchLabels, or with every tensor whose type or shape does not fit.
Expected<std::vector<HostTensor>>
arrangeInputs(const EntryInfo &entry, std::vector<GivenTensor> tensors);

/// The same of its outputs.
Expected<std::vector<HostTensor>>
arrangeOutputs(const EntryInfo &entry, std::vector<GivenTensor> tensors);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GIVENTENSORS_H
