//===- ErrorAgainst.cpp - Errors of a quantized model ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorAgainst.h"

#include "divisi/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace divisi;

/// Of the expected error, and of the norm: see the header.
static constexpr double kRelativeMargin = 0.25, kAbsoluteMargin = 0.005;

static double shareThatDiffers(const rt::HostTensor &got,
                               const rt::HostTensor &exact) {
  int64_t differ = 0;
  for (int64_t i = 0; i < exact.count(); ++i) {
    differ += got.intAt(i) != exact.intAt(i);
  }
  return double(differ) / double(std::max<int64_t>(exact.count(), 1));
}

static double errorTo(const rt::HostTensor &got, const rt::HostTensor &exact) {
  if (!rt::isFloatType(exact.type())) {
    return shareThatDiffers(got, exact);
  }
  double off = 0, all = 0;
  for (int64_t i = 0; i < exact.count(); ++i) {
    double a = got.floatAt(i), b = exact.floatAt(i);
    bool isSame = a == b || (std::isnan(a) && std::isnan(b));
    if (!isSame && !(std::isfinite(a) && std::isfinite(b))) {
      return std::numeric_limits<double>::infinity();
    }
    off += isSame ? 0 : (a - b) * (a - b);
    all += std::isfinite(b) ? b * b : 0;
  }
  return off == 0 ? 0 : std::sqrt(off / all);
}

ErrorAgainst divisi::compareErrors(const rt::HostTensor &got,
                                   const rt::HostTensor &expected,
                                   const rt::HostTensor &exact,
                                   const std::string &model) {
  ErrorAgainst errors{model, errorTo(got, exact), errorTo(expected, exact), 0};
  errors.allowed = (1 + kRelativeMargin) * errors.expected + kAbsoluteMargin;
  return errors;
}

/// The value called `name`; null if there is none.
static const rt::ValueInfo *find(const std::vector<rt::ValueInfo> &values,
                                 const std::string &name) {
  auto found = llvm::find_if(
      values, [&](const rt::ValueInfo &value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

static Status misfit(const char *role, const rt::ValueInfo &value,
                     const std::string &why) {
  return makeError(ExitCode::Invalid, "--against: ", role, " '",
                   visibleLine(value.name), "': ", why,
                   "; give the float model that the quantized one was made "
                   "from");
}

/// The index of each of `outputs` among those of the float model.
static divisi::Expected<std::vector<size_t>>
matchOutputs(const std::vector<rt::ValueInfo> &outputs,
             const rt::EntryInfo &exact) {
  std::vector<size_t> matches;
  for (const rt::ValueInfo &output : outputs) {
    const rt::ValueInfo *match = find(exact.outputs, output.name);
    if (!match) {
      return misfit("output", output, "the float model has none of that name");
    }
    if (match->dims != output.dims ||
        rt::isFloatType(match->type) != rt::isFloatType(output.type)) {
      return misfit(
          "output", output,
          "the float model gives " + rt::describe(match->type, match->dims) +
              ", the quantized one " + rt::describe(output.type, output.dims));
    }
    matches.push_back(size_t(match - exact.outputs.data()));
  }
  return matches;
}

divisi::Expected<std::vector<rt::HostTensor>>
divisi::runFloatModel(const LoadedEntry &exact, const rt::EntryInfo &quantized,
                      const std::vector<rt::HostTensor> &inputs,
                      const std::vector<rt::ValueInfo> &outputs) {
  auto matches = matchOutputs(outputs, *exact.entry);
  if (!matches) {
    return matches.status();
  }
  std::vector<rt::HostTensor> taken, given;
  for (const rt::ValueInfo &input : exact.entry->inputs) {
    const rt::ValueInfo *match = find(quantized.inputs, input.name);
    if (!match) {
      return misfit("input", input,
                    "the quantized model has none of that name");
    }
    taken.push_back(inputs[size_t(match - quantized.inputs.data())]);
  }
  auto all = exact.runWhole(taken);
  if (!all) {
    return all.status();
  }
  for (size_t match : *matches) {
    given.push_back((*all)[match]);
  }
  return given;
}
