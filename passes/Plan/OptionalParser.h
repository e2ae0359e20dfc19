//===- OptionalParser.h - Pass options that may be absent -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's command line knows no numbers that may be absent, and no number can
// stand for that: -1 devices is an error that the planner must see.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_PLAN_OPTIONALPARSER_H
#define DIVISI_PASSES_PLAN_OPTIONALPARSER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace llvm::cl {

/// A decimal integer, or `None`, which is what LLVM prints for nothing.
template <>
class parser<std::optional<int64_t>>
    : public basic_parser<std::optional<int64_t>> {
public:
  /// As LLVM makes parsers: of the option that it belongs to.
  using basic_parser::basic_parser;

  /// True if `text` is neither, as LLVM has it.
  bool parse(Option &option, StringRef, StringRef text,
             std::optional<int64_t> &value) {
    int64_t number = 0;
    if (text == "None") {
      value.reset();
    } else if (text.getAsInteger(10, number)) {
      return option.error("'" + text + "' value invalid for an integer");
    } else {
      value = number;
    }
    return false;
  }
  StringRef getValueName() const override { return "int"; }
  /// Of --print-options, which shows no options of passes.
  void printOptionDiff(const Option &option, const std::optional<int64_t> &,
                       const OptVal &, size_t width) const {
    printOptionNoValue(option, width);
  }
};

} // namespace llvm::cl

#endif // DIVISI_PASSES_PLAN_OPTIONALPARSER_H
