//===- ExpectedOutputs.cpp - What a check expects of an entry -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectedOutputs.h"

#include "TensorArguments.h"
#include "divisi/runtime/tensors/TensorLabels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace divisi;

/// Of each output that counts the rows of another: which.
static std::map<size_t, size_t> countedBy(const rt::EntryInfo &entry) {
  std::map<size_t, size_t> counted;
  for (auto [i, count] : llvm::enumerate(entry.outputs)) {
    llvm::StringRef name = count.name;
    if (!name.consume_back(".count") || count.type != rt::DType::I64 ||
        !count.dims.empty()) {
      continue;
    }
    auto rows = llvm::find_if(entry.outputs, [&](const rt::ValueInfo &output) {
      return output.name == name && !output.dims.empty();
    });
    if (rows != entry.outputs.end()) {
      counted[i] = size_t(rows - entry.outputs.begin());
    }
  }
  return counted;
}

/// Of the outputs that `tensors` may leave out, those that they do: tensors
/// that have the name of no output are for the first ones without a tensor.
static std::set<size_t> leftOut(const std::vector<rt::GivenTensor> &tensors,
                                const rt::EntryInfo &entry,
                                const std::map<size_t, size_t> &counted) {
  std::vector<size_t> open;
  for (auto [i, output] : llvm::enumerate(entry.outputs)) {
    if (llvm::none_of(tensors, [&, &name = output.name](const auto &tensor) {
          return tensor.label.name == name;
        })) {
      open.push_back(i);
    }
  }
  size_t others = open.size() + tensors.size() - entry.outputs.size();
  std::set<size_t> left;
  for (size_t i = std::min(others, open.size()); i < open.size(); ++i) {
    if (counted.count(open[i])) {
      left.insert(open[i]);
    }
  }
  return left;
}

/// The one dim in which `some` is smaller than `all`; the first that has
/// `count` indices where both are alike. Nothing if they differ otherwise.
static std::optional<size_t> countedDim(const rt::Dims &some,
                                        const rt::Dims &all, int64_t count) {
  std::optional<size_t> found;
  if (some.size() != all.size()) {
    return found;
  }
  for (size_t dim = 0; dim < all.size(); ++dim) {
    if (some[dim] != all[dim]) {
      if (found || some[dim] > all[dim]) {
        return std::nullopt;
      }
      found = dim;
    }
  }
  size_t whole = size_t(llvm::find(all, count) - all.begin());
  return found ? found : whole < all.size() ? whole : 0;
}

/// The first `count` indices of dim `dim`.
static divisi::Expected<rt::HostTensor> firstRows(const rt::HostTensor &all,
                                                  size_t dim, int64_t count) {
  rt::Dims dims = all.dims();
  int64_t extent = dims[dim];
  dims[dim] = std::clamp<int64_t>(count, 0, extent);
  auto rows = rt::HostTensor::allocate(all.type(), dims, all.name());
  if (!rows || rows->byteSize() == 0) {
    return rows;
  }
  int64_t outer = 1;
  for (size_t before = 0; before < dim; ++before) {
    outer *= dims[before];
  }
  int64_t from = all.byteSize() / outer, to = rows->byteSize() / outer;
  for (int64_t i = 0; i < outer; ++i) {
    std::memcpy(rows->data() + i * to, all.data() + i * from, size_t(to));
  }
  return rows;
}

ExpectedOutputs::ExpectedOutputs(const rt::EntryInfo &entry,
                                 std::vector<rt::HostTensor> tensors)
    : outputs_(entry.outputs), tensors_(std::move(tensors)) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    sources_.push_back({i, std::nullopt});
  }
}

divisi::Expected<ExpectedOutputs>
ExpectedOutputs::read(llvm::ArrayRef<std::string> arguments,
                      const rt::EntryInfo &entry) {
  auto tensors = readTensorArguments(arguments, "output");
  if (!tensors) {
    return tensors.status();
  }
  std::map<size_t, size_t> counted = countedBy(entry);
  std::set<size_t> left = leftOut(*tensors, entry, counted);
  ExpectedOutputs expected;
  rt::EntryInfo compared{entry.name, {}, {}};
  std::vector<rt::TensorLabel> labels;
  std::vector<rt::TensorSlot> slots;
  for (const rt::GivenTensor &given : *tensors) {
    labels.push_back(given.label);
  }
  for (auto [i, output] : llvm::enumerate(entry.outputs)) {
    if (left.count(i)) {
      continue;
    }
    compared.outputs.push_back(output);
    slots.push_back({output.name, rt::describe(output.type, output.dims)});
    expected.sources_.push_back({i, std::nullopt});
  }
  for (size_t count : left) {
    llvm::find_if(expected.sources_, [&](const Source &source) {
      return source.output == counted[count];
    })->count = count;
  }
  auto slotOf =
      rt::matchLabels(labels, slots, "outputs of entry '" + entry.name + "'",
                      ExitCode::Invalid, /*needsAll=*/true);
  if (!slotOf) {
    return slotOf.status();
  }
  for (auto [given, slot] : llvm::zip_equal(*tensors, *slotOf)) {
    rt::ValueInfo &output = compared.outputs[slot];
    if (expected.sources_[slot].count &&
        countedDim(given.head.dims, output.dims, -1)) {
      output.dims = given.head.dims;
    }
  }
  auto arranged = rt::arrangeOutputs(compared, std::move(*tensors));
  if (!arranged) {
    return arranged.status();
  }
  expected.outputs_ = std::move(compared.outputs);
  expected.tensors_ = std::move(*arranged);
  return expected;
}

divisi::Expected<std::vector<rt::HostTensor>>
ExpectedOutputs::choose(const std::vector<rt::HostTensor> &all) const {
  std::vector<rt::HostTensor> chosen;
  for (auto [source, wanted] : llvm::zip_equal(sources_, tensors_)) {
    const rt::HostTensor &got = all[source.output];
    if (!source.count) {
      chosen.push_back(got);
      continue;
    }
    int64_t count = all[*source.count].intAt(0);
    size_t dim = countedDim(wanted.dims(), got.dims(), count).value_or(0);
    auto rows = firstRows(got, dim, count);
    if (!rows) {
      return rows.status();
    }
    chosen.push_back(std::move(*rows));
  }
  return chosen;
}
