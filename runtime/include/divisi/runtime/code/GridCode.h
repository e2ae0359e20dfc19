//===- GridCode.h - Code for blocks of threads ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler's code generator makes of a region with a RowNest for
// devices that have blocks of threads, and how their backends launch it: a
// module with one kernel, for all extents. Its parameters are
//
//   one pointer per tensor          in the order of RowNest::tensors
//   numbers, of 64 bits each        rows, the extents, the strides by tensor
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDCODE_H
#define DIVISI_RUNTIME_CODE_GRIDCODE_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/code/RowCall.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::rt {

/// The kernel, with the version of its parameters.
inline constexpr char gridFunctionName[] = "divisi_grid_3";

/// Code in PTX for GPUs from `architecture` on ("sm_80"), as a target.
std::string ptxTarget(std::string_view architecture);
/// Code for the emulator, on a processor of `level` (RowCode.h).
std::string emulatedTarget(std::string_view level);
/// That level; empty for another target.
std::string_view levelOfEmulated(std::string_view target);
/// "sm_80" of a target in PTX; empty for one of the emulator.
std::string_view architectureOfTarget(std::string_view target);
/// Whether code of that target is a kernel as this file says.
bool isGridTarget(std::string_view target);

/// Threads that exchange values by shuffles.
inline constexpr int warpSize = 32;
/// How many of them a block has at most.
inline constexpr int mostWarps = 8;

/// As many threads for a row as it has elements, up to all of a block; where
/// threads of a row have something to tell each other and are more than a warp,
/// it is the only one of its block. The launch has so many along x, rows of a
/// block along y, and blocks for all rows.
GridLaunch launchRows(int64_t rows, int64_t columns, bool areShared);
/// Threads along x, for so many elements of which each has some.
GridLaunch launchElements(int64_t count);
/// How many blocks there are for that much work of which a block does a part,
/// and then the next.
uint32_t blocksFor(int64_t work, int64_t ofBlock, int64_t most = 1 << 14);

/// How many numbers a kernel for `nest` takes.
size_t numberCount(const RowNest &nest);
/// The launches that do `call`, one for each of its pieces.
std::vector<GridLaunch> gridLaunches(const RowCall &call);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDCODE_H
