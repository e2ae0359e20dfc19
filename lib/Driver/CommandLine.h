//===- CommandLine.h - What is wrong with a command line --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser prints what it refuses, several lines for one mistake and in
// its own words. So a command line is looked at before, with the same options.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_COMMANDLINE_H
#define DIVISI_LIB_DRIVER_COMMANDLINE_H

#include "divisi/Support/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

namespace divisi {

/// ExitCode::Usage, one message for each mistake in `arguments`, which follow
/// the verb: unknown options, with the one that may be meant; missing values,
/// and values that are no number where value_desc is one of a number's; too few
/// inputs or too many.
Status checkArguments(llvm::cl::SubCommand &verb,
                      llvm::ArrayRef<const char *> arguments);

/// ExitCode::Usage for an option of `verb`, which the parser has filled, that
/// takes one value and was given several.
Status checkGivenOnce(llvm::cl::SubCommand &verb);

/// How a user writes an option: `--devices`, `-o`.
std::string spell(const llvm::cl::Option &option);

/// `; did you mean 'compile'?` if one of `names` is much like `name`, else
/// nothing.
std::string suggest(llvm::StringRef name, llvm::ArrayRef<std::string> names);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_COMMANDLINE_H
