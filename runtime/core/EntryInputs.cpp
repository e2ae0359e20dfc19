//===- EntryInputs.cpp - Whether tensors fit an entry ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EntryInputs.h"

using namespace divisi;
using namespace divisi::rt;

Status divisi::rt::checkTensors(std::span<const ValueInfo> expected,
                                std::span<const HostTensor> got,
                                const std::string &role) {
  std::ostringstream problems;
  for (size_t i = 0; i < expected.size(); ++i) {
    const ValueInfo &value = expected[i];
    if (got[i].type() == value.type && got[i].dims() == value.dims) {
      continue;
    }
    problems << (problems.tellp() == 0 ? "" : "; ") << role << " '"
             << value.name << "': got "
             << describe(got[i].type(), got[i].dims()) << ", expected "
             << describe(value.type, value.dims);
    if (got[i].type() != value.type) {
      problems << "; convert it, for example with NumPy's astype";
    }
  }
  return problems.tellp() == 0 ? Status()
                               : Status(ExitCode::Invalid, problems.str());
}

Status divisi::rt::checkInputs(const EntryInfo &entry,
                               std::span<const HostTensor> inputs) {
  if (inputs.size() == entry.inputs.size()) {
    return checkTensors(entry.inputs, inputs, "input");
  }
  std::ostringstream names;
  for (const ValueInfo &input : entry.inputs) {
    names << (names.tellp() == 0 ? "'" : ", '") << input.name << "'";
  }
  return makeError(ExitCode::Invalid, "got ", inputs.size(),
                   " inputs for entry '", entry.name, "', expected ",
                   entry.inputs.size(), ": ", names.str());
}
