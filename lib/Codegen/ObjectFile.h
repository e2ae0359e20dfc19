//===- ObjectFile.h - From LLVM's IR to a shared object ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_OBJECTFILE_H
#define DIVISI_LIB_CODEGEN_OBJECTFILE_H

#include "divisi/Support/Status.h"
#include "divisi/Support/UserCache.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace divisi {

/// The relocatable object of `module` for x86-64 processors of `level`.
Expected<std::string> compileModule(llvm::Module &module,
                                    const std::string &level);

/// PTX of `module`, for GPUs from `architecture` on ("sm_80").
Expected<std::string> assemblePtx(llvm::Module &module,
                                  const std::string &architecture);

/// What `compile` makes of `module` for `target`, which is all that it depends
/// on; what `cache` has of it, unless that is null.
Expected<std::string> compileOnce(
    llvm::Module &module, const std::string &target, const UserCache *cache,
    llvm::function_ref<Expected<std::string>(llvm::Module &module)> compile);

/// The shared object of one relocatable one: its code and constants, and the
/// function `name`, which is all that it exports. ExitCode::Internal if it
/// wants a symbol that it does not have, or has data that can change.
Expected<std::string> linkObject(const std::string &object,
                                 const std::string &name);

/// The shared object of what compileModule() makes.
Expected<std::string> compileAndLink(llvm::Module &module,
                                     const std::string &level,
                                     const std::string &name);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_OBJECTFILE_H
