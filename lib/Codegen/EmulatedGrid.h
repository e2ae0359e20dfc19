//===- EmulatedGrid.h - Kernels that run thread by thread -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for blocks of threads can be compiled for the host, too: not to be
// fast, but to observe each thread. It calls this table for every service of
// its device, including each memory access, so that the caller (the tests'
// emulator) chooses the order of threads, and detects which of them touch the
// same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMULATEDGRID_H
#define DIVISI_LIB_CODEGEN_EMULATEDGRID_H

#include <cstdint>

namespace divisi {

/// What a thread can ask of its device. `thread` is whatever the kernel was
/// called with. The code reads it in this order: what changes here changes
/// `emulatedFunctionName`.
struct EmulatedGrid {
  /// Along x or y, of the thread in its block, of the block in the grid.
  enum Position : uint32_t {
    ThreadX,
    ThreadY,
    BlockSizeX,
    BlockSizeY,
    BlockX,
    BlockY,
    GridSizeX,
    GridSizeY,
  };
  /// A Position.
  uint64_t (*position)(void *thread, uint32_t which);
  /// Returns when all threads of the block have come.
  void (*barrier)(void *thread);
  /// What the thread whose number in its warp differs in the bits of `offset`
  /// gives; all threads of the warp come.
  uint32_t (*shuffle)(void *thread, uint32_t bits, uint32_t offset);
  /// The memory that a block shares.
  void *(*shared)(void *thread);
  /// Where the bytes are that the thread is about to read or write.
  void *(*access)(void *thread, void *address, uint64_t bytes, uint32_t writes);
  /// The thread's part of a product on tensor cores, PTX's mma.m16n8k16 of f16
  /// or bf16: four words of a, two of b, and four f32 of c, which become those
  /// of the result; all threads of the warp come.
  void (*multiply)(void *thread, uint32_t *words, uint32_t isBFloat);
};

/// What one thread does. Each parameter is where its value lies.
using EmulatedFunction = void (*)(const EmulatedGrid *grid, void *thread,
                                  const void *const *parameters);
/// What stands before the object with that function.
struct EmulatedHeader {
  char magic[8] = {'e', 'm', 'u', 'l', 'g', 'r', 'd', '2'}; ///< "emulgrd2"
  uint64_t parameters = 0; ///< How many there are, of 8 bytes each.
  uint64_t bytes = 0;      ///< Of the object.
};
/// Its name, with the version of the table.
inline constexpr char emulatedFunctionName[] = "divisi_emulated_2";

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMULATEDGRID_H
