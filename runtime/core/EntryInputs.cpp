//===- EntryInputs.cpp - Whether tensors fit an entry ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EntryInputs.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

static Status checkInput(const ValueInfo &expected, const HostTensor &got) {
  if (got.type() == expected.type && got.dims() == expected.dims) {
    return {};
  }
  return makeError(ExitCode::Invalid, "input '", expected.name, "': got ",
                   describe(got.type(), got.dims()), ", expected ",
                   describe(expected.type, expected.dims),
                   got.type() == expected.type
                       ? ""
                       : "; convert it, for example with NumPy's astype");
}

static std::string quotedInputs(const EntryInfo &entry) {
  std::ostringstream names;
  for (const ValueInfo &input : entry.inputs) {
    names << (names.tellp() == 0 ? "" : ", ") << "'" << input.name << "'";
  }
  return names.str();
}

static Status checkCount(const EntryInfo &entry, size_t got) {
  if (got == entry.inputs.size()) {
    return {};
  }
  return makeError(ExitCode::Invalid, "got ", got, " inputs for entry '",
                   entry.name, "', expected ", entry.inputs.size(), ": ",
                   quotedInputs(entry));
}

Status divisi::rt::checkInputs(const EntryInfo &entry,
                               std::span<const HostTensor> inputs) {
  Status status = checkCount(entry, inputs.size());
  for (size_t i = 0; status.isOk() && i < inputs.size(); ++i) {
    status = checkInput(entry.inputs[i], inputs[i]);
  }
  return status;
}

/// The index of the tensor called `name` among the inputs, or their number.
static size_t indexOf(const EntryInfo &entry, const std::string &name) {
  return std::find_if(
             entry.inputs.begin(), entry.inputs.end(),
             [&](const ValueInfo &input) { return input.name == name; }) -
         entry.inputs.begin();
}

/// Every tensor has the name of an input, no two the same one.
static Status checkNames(const EntryInfo &entry,
                         std::span<const HostTensor> tensors) {
  std::vector<bool> seen(entry.inputs.size());
  for (const HostTensor &tensor : tensors) {
    size_t index = indexOf(entry, tensor.name());
    if (index == entry.inputs.size()) {
      return makeError(ExitCode::Invalid, "entry '", entry.name,
                       "' has no input '", tensor.name(), "'; expected ",
                       quotedInputs(entry));
    }
    if (seen[index]) {
      return makeError(ExitCode::Invalid, "input '", tensor.name(),
                       "' is given twice");
    }
    seen[index] = true;
  }
  return {};
}

Expected<std::vector<HostTensor>>
divisi::rt::arrangeInputs(const EntryInfo &entry,
                          std::vector<HostTensor> tensors) {
  bool areNamed =
      std::any_of(tensors.begin(), tensors.end(), [](const HostTensor &tensor) {
        return !tensor.name().empty();
      });
  Status status = areNamed ? checkNames(entry, tensors) : Status();
  if (!status.isOk()) {
    return status;
  }
  if (areNamed) {
    std::stable_sort(tensors.begin(), tensors.end(),
                     [&](const HostTensor &a, const HostTensor &b) {
                       return indexOf(entry, a.name()) <
                              indexOf(entry, b.name());
                     });
  }
  status = checkInputs(entry, tensors);
  if (!status.isOk()) {
    return status;
  }
  return tensors;
}
