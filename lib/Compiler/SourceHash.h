//===- SourceHash.h - Where the globals of a text lie -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a partitioned module says what it computes twice: as a program,
// and as hashes of the program before it was partitioned (`spmd.computes`). Of
// the bytes of globals the hash stands beside `divisi.files`, which names
// contents:
//
//   divisi.files = {m.onnx = {bytes = 1014, sha256 = "c6a1…"}},
//   divisi.sources = "91c2f3a0b5d7e846"
//   nn.global @w … from "m.onnx" [512, 128]      who exchanges such two places
//   nn.global @v … from "m.onnx" [640, 128]      is told so
//
// Files stand in the hash by their content, so texts and files may move.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_SOURCEHASH_H
#define DIVISI_LIB_COMPILER_SOURCEHASH_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace divisi {

/// On a module that is text: what the files of its globals have to be.
inline constexpr llvm::StringLiteral kFilesAttr = "divisi.files";
/// On a partitioned module that is text: the hash of where its globals lie.
inline constexpr llvm::StringLiteral kSourcesAttr = "divisi.sources";
/// What `from` says of a resource, before its key.
inline constexpr llvm::StringLiteral kResource = "resource:";

/// The bytes of the resource `key` of a text.
using ResourceBytes =
    std::function<Expected<std::span<const std::byte>>(llvm::StringRef key)>;

/// The hash of the places of all globals of `text`, whose names are as the text
/// has them, and of the bytes in its resources, as 16 hexadecimal digits. Fails
/// as `bytesOf` does.
Expected<std::string> hashOfSources(mlir::ModuleOp text,
                                    const ResourceBytes &bytesOf);

/// Whether `text` has the hash that it notes, if it notes one; drops the note.
/// ExitCode::Invalid.
Status checkSources(mlir::ModuleOp text, const ResourceBytes &bytesOf);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_SOURCEHASH_H
