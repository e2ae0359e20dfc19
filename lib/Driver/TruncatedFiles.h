//===- TruncatedFiles.h - Mapped files that become shorter ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are used where their file is mapped. If another process truncates the
// file meanwhile, who reads them gets SIGBUS, wherever that is. Only a program
// may handle a signal, so libraries do not.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TRUNCATEDFILES_H
#define DIVISI_LIB_DRIVER_TRUNCATEDFILES_H

namespace divisi {

/// From now on, reading a mapped file where it has become shorter ends the
/// process with ExitCode::File and says which file it is, after the files of
/// llvm::sys::RemoveFileOnSignal are removed. Other causes of SIGBUS go on to
/// the handler that there was.
void reportTruncatedFiles();

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TRUNCATEDFILES_H
