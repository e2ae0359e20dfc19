//===- VerifyOrder.h - Whether ranks can go on together ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_VERIFY_VERIFYORDER_H
#define DIVISI_RUNTIME_VERIFY_VERIFYORDER_H

#include "runtime/artifact/ResolvedManifest.h"

namespace divisi::rt {

/// Whether all ranks of a communicator have its collectives in one order, and
/// no collective waits for itself: queue order, `after`, the order of the list
/// among collectives between memories of devices, and the collectives, each of
/// which is one event for all of its ranks, have no cycle. All else
/// about the collectives of `entry` has been found right. Ranks of one program
/// are looked at once.
Status verifyOrder(const ResolvedManifest &resolved,
                   const ResolvedEntry &entry);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_VERIFY_VERIFYORDER_H
