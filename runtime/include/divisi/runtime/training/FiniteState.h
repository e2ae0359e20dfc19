//===- FiniteState.h - Whether a state is of numbers ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_FINITESTATE_H
#define DIVISI_RUNTIME_TRAINING_FINITESTATE_H

#include "divisi/runtime/core/Session.h"

#include <span>

namespace divisi::rt {

/// Invalid, naming `global`, if one of the elements in `bytes`, those of a box
/// of it, is infinite or NaN. One pass over them. Types of 16 bits and more are
/// looked at; smaller ones are no states of an optimizer.
Status checkFinite(const GlobalInfo &global, std::span<const std::byte> bytes);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_FINITESTATE_H
