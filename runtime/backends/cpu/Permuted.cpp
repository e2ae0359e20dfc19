//===- Permuted.cpp - Operators on tensors whose channels come last -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor whose channels come last is stored as a plain one with permuted
// dimensions. What treats all dimensions alike, or names in its attributes
// those that it does not, works on that one:
//
//   concat %a, %b {axis = 1}           on [8, 64, 7, 7] channels_last
//   concat %a, %b {axis = 3}           on [8, 7, 7, 64]
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Formats.h"
#include "runtime/kernels/Region.h"

#include <algorithm>

namespace divisi::rt::cpu {
namespace {

/// What has to change about attributes when dimensions do.
enum class Change : uint8_t {
  Nothing,
  Axis,
  Axes,
  ReducedAxes, ///< Of dimensions that the result lacks.
  Lists,
  Permutation
};

struct Permutable {
  std::string_view op;
  Change change = Change::Nothing;
};

/// The call in the place of one with channels that come last.
class PermutedCall {
public:
  /// `isDone()` says whether there is one.
  explicit PermutedCall(const CallSite &site);
  PermutedCall(const PermutedCall &) = delete;
  bool isDone() const { return isDone_; }
  CallSite call() const;

private:
  bool permuteRegion();
  bool permuteTensors(std::span<const TensorInfo> infos,
                      std::vector<TensorInfo> &to) const;

  const CallSite &site_;
  size_t rank_ = 0; ///< Of the tensors with a format.
  bool isDone_ = false;
  Attributes attributes_;
  std::vector<TensorInfo> operands_, results_;
  Region region_;
};

} // namespace

static std::span<const Permutable> permutables() {
  static const std::vector<Permutable> all = [] {
    std::vector<Permutable> rows{{"nn.concat", Change::Axis},
                                 {"nn.pad", Change::Lists},
                                 {"nn.pool_max", Change::Lists},
                                 {"nn.pool_sum", Change::Lists},
                                 {"nn.normalize", Change::Axes},
                                 {"nn.reduce", Change::ReducedAxes},
                                 {"nn.slice", Change::Lists},
                                 {"nn.softmax", Change::Axis},
                                 {"nn.transpose", Change::Permutation}};
    for (auto family : {unaryKernels(), elementwiseKernels()}) {
      for (const Kernel &kernel : family) {
        rows.push_back({kernel.op});
      }
    }
    return rows;
  }();
  return all;
}

static const Permutable *findPermutable(std::string_view op) {
  auto rows = permutables();
  auto it = std::find_if(rows.begin(), rows.end(),
                         [&](const Permutable &row) { return row.op == op; });
  return it == rows.end() ? nullptr : &*it;
}

/// Where dimension `dim` is stored.
static int64_t storedAt(int64_t dim, size_t rank) {
  Dims order = channelsLastOrder(rank);
  return std::find(order.begin(), order.end(), dim) - order.begin();
}

/// The dimensions that have more than one element in the box, ascending by
/// where they are in `order`.
static Dims wideDims(const TensorInfo &info, const Dims &order) {
  Dims wide;
  std::copy_if(order.begin(), order.end(), std::back_inserter(wide),
               [&](int64_t dim) { return info.extents[dim] != 1; });
  return wide;
}

/// A plain tensor that broadcasts to one of `rank` dimensions, permuted as that
/// one is; nothing if its bytes would have to be.
static std::optional<TensorInfo> permuteBroadcast(const TensorInfo &info,
                                                  size_t rank) {
  if (info.rank() > rank) {
    return std::nullopt;
  }
  TensorInfo padded = info;
  padded.extents.insert(padded.extents.begin(), rank - info.rank(), 1);
  padded.offset.insert(padded.offset.begin(), rank - info.rank(), 0);
  padded.global.insert(padded.global.begin(), rank - info.rank(), 1);
  Dims order = channelsLastOrder(rank), wide = wideDims(padded, order);
  if (!std::is_sorted(wide.begin(), wide.end())) {
    return std::nullopt;
  }
  padded.format = channelsLast;
  return storedAs(padded);
}

static void permuteList(Attributes &attributes, const std::string &name,
                        size_t rank) {
  if (auto list = attributes.getInts(name); list.size() == rank) {
    attributes.set(name, permuted(list, channelsLastOrder(rank)));
  }
}

/// Says of `attributes` in terms of stored dimensions what they say of those of
/// tensors of `rank` dimensions.
static void permuteAttributes(Change change, size_t rank, const CallSite &site,
                              Attributes &attributes) {
  if (change == Change::Axis) {
    attributes.set("axis", storedAt(attributes.getInt("axis"), rank));
  } else if (change == Change::Axes || change == Change::ReducedAxes) {
    Dims axes = attributes.getInts("axes");
    for (int64_t &axis : axes) {
      axis = storedAt(axis, rank);
    }
    std::sort(axes.begin(), axes.end());
    attributes.set("axes", axes);
  } else if (change == Change::Lists) {
    for (const char *name :
         {"kernel", "strides", "dilations", "pads_lo", "pads_hi", "starts",
          "limits", "steps", "lo", "hi"}) {
      permuteList(attributes, name, rank);
    }
  } else if (change == Change::Permutation) {
    Dims from = attributes.getInts("permutation");
    if (isChannelsLast(site.operands[0])) {
      for (int64_t &dim : from) {
        dim = storedAt(dim, rank);
      }
    }
    attributes.set("permutation", isChannelsLast(site.results[0])
                                      ? permuted(from, channelsLastOrder(rank))
                                      : from);
  }
}

/// The result of a reduction of what is stored; nothing if its bytes would have
/// to be permuted, too.
static std::optional<TensorInfo> permuteReduced(const CallSite &site) {
  const TensorInfo &from = site.operands[0], &to = site.results[0];
  Dims axes = site.attributes.getInts("axes"), left; // dimensions, as stored
  for (int64_t dim : channelsLastOrder(from.rank())) {
    if (std::find(axes.begin(), axes.end(), dim) == axes.end()) {
      left.push_back(dim);
    }
  }
  if (left.size() != to.rank()) {
    return std::nullopt;
  }
  Dims order; // of the result's dimensions
  for (int64_t dim : left) {
    order.push_back(std::count_if(left.begin(), left.end(),
                                  [&](int64_t other) { return other < dim; }));
  }
  Dims wide = wideDims(to, order);
  if (!std::is_sorted(wide.begin(), wide.end())) {
    return std::nullopt;
  }
  return TensorInfo{to.type, permuted(to.extents, order),
                    permuted(to.offset, order), permuted(to.global, order)};
}

bool PermutedCall::permuteTensors(std::span<const TensorInfo> infos,
                                  std::vector<TensorInfo> &to) const {
  for (const TensorInfo &info : infos) {
    if (isChannelsLast(info)) {
      to.push_back(storedAs(info));
    } else if (auto broadcast = permuteBroadcast(info, rank_)) {
      to.push_back(*broadcast);
    } else {
      return false;
    }
  }
  return true;
}

/// Each part by itself. What a part makes has the format if something that it
/// reads has, unless it reduces that.
bool PermutedCall::permuteRegion() {
  region_ = *site_.region;
  std::vector<TensorInfo> values(site_.operands.begin(), site_.operands.end());
  std::vector<std::optional<TensorInfo>> stored(values.size());
  auto store = [&](int value, const TensorInfo &info) {
    bool isNew = !stored[value];
    stored[value] = stored[value].value_or(info);
    return isNew || (stored[value]->extents == info.extents &&
                     stored[value]->global == info.global);
  };
  for (RegionPart &part : region_.parts) {
    std::vector<TensorInfo> operands, results = part.results;
    for (int operand : part.operands) {
      operands.push_back(values[operand]);
    }
    const Permutable *row = findPermutable(part.op);
    CallSite own{part.op, part.attributes, operands, results};
    bool isFormatted = hasFormats(own);
    for (TensorInfo &result : results) {
      if (isFormatted && row && row->change != Change::ReducedAxes) {
        result.format = channelsLast;
      }
    }
    PermutedCall permuted(own);
    if (isFormatted &&
        (!row || row->change == Change::Permutation || !permuted.isDone())) {
      return false;
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!store(part.operands[i],
                 isFormatted ? permuted.operands_[i] : operands[i])) {
        return false; // two parts would broadcast it in different ways
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      values.push_back(results[i]);
      stored.push_back(isFormatted ? permuted.results_[i] : results[i]);
      part.results[i] = *stored.back();
    }
    if (isFormatted) {
      part.attributes = permuted.attributes_;
    }
  }
  for (size_t i = 0; i < site_.operands.size(); ++i) {
    operands_.push_back(stored[i].value_or(storedAs(site_.operands[i])));
  }
  for (size_t i = 0; i < site_.results.size(); ++i) {
    int value = site_.region->results[i];
    results_.push_back(*stored[value]);
    if (values[value].format != site_.results[i].format) {
      return false;
    }
  }
  return true;
}

PermutedCall::PermutedCall(const CallSite &site)
    : site_(site), attributes_(site.attributes) {
  if (!hasFormats(site) || !isPlainOrChannelsLast(site)) {
    return;
  }
  for (auto infos : {site.operands, site.results}) {
    for (const TensorInfo &info : infos) {
      rank_ = isChannelsLast(info) ? info.rank() : rank_;
    }
  }
  if (site.region) {
    isDone_ = permuteRegion();
    return;
  }
  const Permutable *row = findPermutable(site.op);
  if (!row) {
    return;
  }
  Change change = row->change;
  auto needFormat = [&](std::span<const TensorInfo> infos) {
    return std::all_of(infos.begin(), infos.end(), [&](const auto &info) {
      return isChannelsLast(info) && info.rank() == rank_;
    });
  };
  if (change == Change::Permutation) {
    for (const TensorInfo &operand : site.operands) {
      operands_.push_back(storedAs(operand));
    }
    results_.push_back(storedAs(site.results[0]));
    isDone_ = true;
  } else if (change == Change::ReducedAxes) {
    operands_.push_back(storedAs(site.operands[0]));
    auto result = permuteReduced(site);
    isDone_ =
        result && needFormat(site.operands) && site.results[0].format.empty();
    results_.push_back(result.value_or(site.results[0]));
  } else {
    isDone_ = needFormat(site.results) &&
              (change == Change::Nothing || needFormat(site.operands)) &&
              permuteTensors(site.operands, operands_) &&
              permuteTensors(site.results, results_);
  }
  permuteAttributes(change, rank_, site, attributes_);
}

CallSite PermutedCall::call() const {
  CallSite call{site_.op,        attributes_,   operands_,          results_,
                site_.constants, site_.threads, site_.checksIndices};
  call.region = site_.region ? &region_ : nullptr;
  return call;
}

/// The kernel of the permuted call, or null.
static const Kernel *findInner(const CallSite &call) {
  const Kernel *kernel = cpuBackend().find(call);
  return kernel ? kernel : referenceBackend().find(call);
}

static bool acceptsPermuted(const CallSite &site) {
  PermutedCall permuted(site);
  return permuted.isDone() && findInner(permuted.call());
}

static KernelQuery queryPermuted(const CallSite &site) {
  PermutedCall permuted(site);
  CallSite call = permuted.call();
  KernelQuery query = findInner(call)->query(call);
  query.views.clear();
  query.unread.clear();
  return query;
}

static std::unique_ptr<PreparedKernel> preparePermuted(const CallSite &site,
                                                       std::string &error) {
  PermutedCall permuted(site);
  CallSite call = permuted.call();
  const Kernel *taker = cpuBackend().find(call);
  std::unique_ptr<PreparedKernel> kernel =
      taker ? taker->prepare(call, error) : nullptr;
  return kernel ? std::move(kernel)
                : referenceBackend().find(call)->prepare(call, error);
}

std::span<const Kernel> permutedKernels() {
  static const std::vector<Kernel> table = [] {
    std::vector<Kernel> kernels;
    auto add = [&](std::string_view op) {
      Kernel &kernel = kernels.emplace_back(
          Kernel{op, *kernelVersion(op), KernelUse::Whole, queryPermuted,
                 preparePermuted, acceptsPermuted});
      kernel.takesFormats = true;
    };
    add(fusedOp);
    for (const Permutable &row : permutables()) {
      add(row.op);
    }
    return kernels;
  }();
  return table;
}

} // namespace divisi::rt::cpu
