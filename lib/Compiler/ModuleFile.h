//===- ModuleFile.h - Modules as text in files ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dump is a module that knows how far it has come: the attribute
// `divisi.stage` names the last stage that it has been through. It is one file.
// The bytes that the compiler itself has made (folded constants) are resources
// behind the module, one a global:
//
//   nn.global @c constant : tensor<32xi64> from "resource:c" [0, 256]
//   …
//   {-# external_resources: { divisi: { c: "0x40000000…" } } #-}
//
// Weights stay in the model's files, which `from` names relative to the dump's
// own folder, so that both may move together; DataFiles.h says which of these
// are read. `divisi.files` on the module says what they have to be:
//
//   divisi.files = {gpt2.onnx = {bytes = 660454 : i64, sha256 = "c6a1…"}}
//
// `divisi.sources` on a partitioned module is a hash of these places and bytes
// (SourceHash.h). In memory, names are absolute and those of the GlobalStore.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_MODULEFILE_H
#define DIVISI_LIB_COMPILER_MODULEFILE_H

#include "InputFile.h"
#include "divisi/Compiler/Stage.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace divisi {

/// A module that was read, and the stage that it goes on from.
struct ReadModule {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Verified by its dialects.
  Stage stage = Stage::Import;              ///< The last one that is over.
};

/// Reads the module in `input`; `store` gets its resources, and the files of
/// its globals, of which `given` are named by the caller. ExitCode::Invalid for
/// what does not parse, names an unknown stage, has no entry function, or lies
/// in a file of another size than the dump says; ExitCode::Usage for a file
/// that is given and not named.
Expected<ReadModule> readModule(InputFile input, mlir::MLIRContext &context,
                                llvm::ArrayRef<std::string> given,
                                GlobalStore &store);

/// MODEL.STAGE.mlir: the name of the dump after `stage` of what `input` is
/// called, which may be a name in a text; `stdin` for one that names no file.
std::string dumpName(llvm::StringRef input, Stage stage);

/// Writes `module` as text to `path`, "-" being stdout, with the bytes that
/// `store` alone has; the size of the text. Hashes the files that globals lie
/// in, unless the store knows what they are. ExitCode::File.
Expected<int64_t> writeModuleFile(mlir::ModuleOp module, GlobalStore &store,
                                  const std::string &path);
/// The same text, for a file in the folder of `path`.
Expected<std::string> moduleText(mlir::ModuleOp module, GlobalStore &store,
                                 const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_MODULEFILE_H
