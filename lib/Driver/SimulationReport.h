//===- SimulationReport.h - Shows what entries do when ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As text, with a line per program over time:
//
//   ranks 0      0123aabbccdd      digits: the forward phase of a micro-batch
//   ranks 1      .0a1b2c3d...      letters: its backward phase
//
// as JSON, and as events that Perfetto opens, like those of `run --trace`.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SIMULATIONREPORT_H
#define DIVISI_LIB_DRIVER_SIMULATIONREPORT_H

#include "divisi/Schedule/SimulateEntry.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace divisi {

/// What no operator and no exposed collective fills of the time of all
/// programs, from 0 to 1.
double bubbleOf(const SimulatedEntry &entry);

/// Prints one entry.
void printSimulation(const SimulatedEntry &entry, llvm::raw_ostream &os);

/// All entries, without single events.
llvm::json::Value toJSON(llvm::ArrayRef<SimulatedEntry> entries);

/// Writes the events of `entry` to `file` in Chrome's trace format; after them
/// those of `measured`, a list of such events.
Status writeTrace(const SimulatedEntry &entry,
                  const llvm::json::Array &measured, OutputFile &file);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SIMULATIONREPORT_H
