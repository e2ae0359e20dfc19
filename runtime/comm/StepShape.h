//===- StepShape.h - What a step asks of its parties ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all communicators work out of a StepDesc in the same way, so that they
// accept the same steps and give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_STEPSHAPE_H
#define DIVISI_RUNTIME_COMM_STEPSHAPE_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/device/Senders.h"

namespace divisi::rt {

/// How party `self` of a step that moves fills its result: nothing where it
/// wants none. Fails with Invalid if no party holds an element of it.
Expected<std::vector<Fetch>> planMove(const StepDesc &step, size_t self);

/// Who sends what in `step`, which moves and which the caller keeps.
Senders sendersOf(const StepDesc &step);

/// Whether party `self` of a step that reduces can take what it wants.
Status checkReduce(const StepDesc &step, size_t self);

/// Whether all parties hold the same box, and all want exactly that one.
bool isAllReduce(const StepDesc &step);

/// Whether any party wants something; else a step that moves is a barrier,
/// which all pass or none.
bool takesAnything(const StepDesc &step);

/// Where the `chunk`th of `parties` equal shares of `count` elements begins, on
/// whole cache lines; the end of the last is that of share `parties`.
int64_t chunkBegin(int64_t count, size_t parties, size_t chunk);

/// How many bytes party `self` gives to others, as all communicators do it: of
/// an all-reduce, the chunks that others combine, and its own to all.
int64_t bytesGiven(const StepDesc &step, size_t self);

/// That `self` has waited in vain for the ranks `missing`.
Status timeoutError(const StepDesc &step, size_t self,
                    const std::vector<uint32_t> &missing,
                    std::chrono::milliseconds timeout);

/// That another party describes the step differently.
Status otherStepError(const StepDesc &step);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_STEPSHAPE_H
