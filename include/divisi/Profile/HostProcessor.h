//===- HostProcessor.h - The processor that compiles ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compile goes by the description of its target. The host is asked in two
// places only: a tool describes it, once, for kinds of devices that state no
// instruction set (Cluster::describeHost); and kernels can be asked what they
// want only where they run.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROFILE_HOSTPROCESSOR_H
#define DIVISI_PROFILE_HOSTPROCESSOR_H

#include "divisi/Cluster/Cluster.h"

#include <string>

namespace divisi {

/// The name of the instruction set that kernels of this build use on this
/// machine (Cluster/InstructionSet.h); empty if it has none of these.
std::string hostInstructionSet();

/// Whether the kernels of devices of `cluster` are those that this build runs
/// here, so that they can be asked: processors of this instruction set, or of
/// one that is not stated.
bool runsKernelsOf(const Cluster &cluster);

} // namespace divisi

#endif // DIVISI_PROFILE_HOSTPROCESSOR_H
