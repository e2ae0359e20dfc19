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

/// Whether no two indices show the same bytes because a stride is zero.
static bool hasPlaces(const TensorView &view) {
  for (size_t d = 0; d < view.strides.size(); ++d) {
    if (view.strides[d] == 0 && view.dims[d] > 1) {
      return false;
    }
  }
  return true;
}

/// What is wrong with a view that should show `dims` of `value`; empty if
/// nothing is.
static std::string checkView(const ValueInfo &value, const Dims &dims,
                             const TensorView &view, bool isOutput) {
  std::ostringstream problem;
  if (view.type != value.type || view.dims != dims) {
    problem << "got " << describe(view.type, view.dims) << ", expected "
            << describe(value.type, dims);
    if (view.type != value.type) {
      problem << "; convert it, for example with NumPy's astype";
    }
  } else if (!view.strides.empty() && view.strides.size() != dims.size()) {
    problem << "got " << view.strides.size() << " strides for " << dims.size()
            << " dimensions";
  } else if (!view.data && numElements(dims) != 0) {
    problem << "it has no memory";
  } else if (isOutput && !hasPlaces(view)) {
    problem << "a stride of 0 makes several elements share memory";
  }
  return problem.str();
}

Status divisi::rt::checkTensors(std::span<const ValueInfo> expected,
                                std::span<const TensorArgument> got,
                                const std::string &role) {
  std::ostringstream problems;
  auto note = [&](const ValueInfo &value, const std::string &problem) {
    if (!problem.empty()) {
      problems << (problems.tellp() == 0 ? "" : "; ") << role << " '"
               << value.name << "': " << problem;
    }
  };
  bool isOutput = role == "output";
  for (size_t i = 0; i < expected.size(); ++i) {
    const ValueInfo &value = expected[i];
    const TensorArgument &argument = got[i];
    if (argument.isWhole) {
      note(value,
           checkView(value, value.dims, argument.views.front(), isOutput));
    } else if (argument.views.size() != value.boxes.size()) {
      note(value, "got " + std::to_string(argument.views.size()) +
                      " boxes, expected one for each of the session's " +
                      std::to_string(value.boxes.size()) + " ranks");
    } else {
      for (size_t local = 0; local < value.boxes.size(); ++local) {
        if (const std::optional<Box> &box = value.boxes[local]) {
          note(value, checkView(value, box->extents(), argument.views[local],
                                isOutput));
        }
      }
    }
  }
  return problems.tellp() == 0 ? Status()
                               : Status(ExitCode::Invalid, problems.str());
}

static Status checkCount(const EntryInfo &entry,
                         std::span<const ValueInfo> expected, size_t got,
                         const std::string &role) {
  if (got == expected.size()) {
    return {};
  }
  std::ostringstream names;
  for (const ValueInfo &value : expected) {
    names << (names.tellp() == 0 ? "'" : ", '") << value.name << "'";
  }
  return makeError(ExitCode::Invalid, "got ", got, " ", role, " for entry '",
                   entry.name, "', expected ", expected.size(), ": ",
                   names.str());
}

Status divisi::rt::checkArguments(const EntryInfo &entry,
                                  std::span<const TensorArgument> inputs,
                                  std::span<const TensorArgument> outputs) {
  Status status = checkCount(entry, entry.inputs, inputs.size(), "inputs");
  if (status.isOk()) {
    status = checkCount(entry, entry.outputs, outputs.size(), "outputs");
  }
  if (status.isOk()) {
    status = checkTensors(entry.inputs, inputs, "input");
  }
  return status.isOk() ? checkTensors(entry.outputs, outputs, "output")
                       : status;
}

Status divisi::rt::checkWholeOutputs(const EntryInfo &entry) {
  for (const ValueInfo &output : entry.outputs) {
    std::vector<Box> missing = {Box::whole(output.dims)}, rest;
    for (const std::optional<Box> &box : output.boxes) {
      rest.clear();
      for (const Box &piece : missing) {
        if (box) {
          subtract(piece, *box, rest);
        } else {
          rest.push_back(piece);
        }
      }
      std::swap(missing, rest);
    }
    bool hasAll = std::all_of(missing.begin(), missing.end(),
                              [](const Box &piece) { return piece.empty(); });
    if (!hasAll) {
      return makeError(ExitCode::Usage, "output '", output.name,
                       "' lies partly on ranks of other sessions; give memory "
                       "for the boxes of this one");
    }
  }
  return {};
}
