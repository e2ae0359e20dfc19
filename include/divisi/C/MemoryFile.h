//===- MemoryFile.h - Bytes of a caller as a file ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_C_MEMORYFILE_H
#define DIVISI_C_MEMORYFILE_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <span>

namespace divisi {

/// The descriptor, for the caller to close, of a file with those bytes that has
/// no folder and is read from its beginning. Fails with Device.
Expected<int> makeMemoryFile(std::span<const std::byte> bytes);

} // namespace divisi

#endif // DIVISI_C_MEMORYFILE_H
