//===- ActsOn.h - What an option of the command line acts on ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a model to results there are steps, and every option acts on one of
// them. An input that has the step behind it cannot honour the option: whoever
// reads the input refuses it (GivenInput.h). --help groups options alike.
//
//   cl::opt<std::string> mesh{"mesh", …, on(ActsOn::Plan)};
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_ACTSON_H
#define DIVISI_LIB_DRIVER_ACTSON_H

#include "divisi/Compiler/GivenInput.h"

#include "llvm/Support/CommandLine.h"

#include <optional>

namespace divisi {

/// The category of options that act on `step`, for cl::cat.
llvm::cl::OptionCategory &optionsOn(ActsOn step);

/// The same, as one says it of an option: `on(ActsOn::Plan)`.
inline llvm::cl::cat on(ActsOn step) { return llvm::cl::cat(optionsOn(step)); }

/// What `option` acts on; nothing for an option of LLVM's (--help), or one that
/// does not say.
std::optional<ActsOn> stepOf(const llvm::cl::Option &option);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_ACTSON_H
