//===- MachinePlace.h - Where a process is ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_SOCKETS_MACHINEPLACE_H
#define DIVISI_RUNTIME_COMM_SOCKETS_MACHINEPLACE_H

#include <string>
#include <vector>

namespace divisi::rt {

/// The same of processes that reach each other by sockets which have no file:
/// of one machine, since it was started, and one network of it.
std::string machineName();

/// The addresses at which other machines may reach this one, as numbers: those
/// of its interfaces, without loopbacks and what is valid on one link alone.
std::vector<std::string> machineAddresses();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_SOCKETS_MACHINEPLACE_H
