//===- Formats.cpp - Tensors whose elements have another order ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Formats.h"
#include "divisi/runtime/kernels/Copy.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>
#include <numeric>

namespace divisi::rt {

bool isChannelsLast(const TensorInfo &info) {
  return info.format == channelsLast && info.rank() >= 3;
}

static bool isPlain(const TensorInfo &info) { return info.format.empty(); }

bool hasFormats(const CallSite &site) {
  return !std::all_of(site.operands.begin(), site.operands.end(), isPlain) ||
         !std::all_of(site.results.begin(), site.results.end(), isPlain);
}

bool isPlainOrChannelsLast(const CallSite &site) {
  auto isKnown = [](const TensorInfo &info) {
    return isPlain(info) || isChannelsLast(info);
  };
  return std::all_of(site.operands.begin(), site.operands.end(), isKnown) &&
         std::all_of(site.results.begin(), site.results.end(), isKnown);
}

Dims channelsLastOrder(size_t rank) {
  Dims order{0};
  for (size_t d = 2; d < rank; ++d) {
    order.push_back(int64_t(d));
  }
  order.push_back(1);
  return order;
}

Dims storedOrder(const TensorInfo &info) {
  if (isChannelsLast(info)) {
    return channelsLastOrder(info.rank());
  }
  Dims order(info.rank());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Dims permuted(const Dims &values, const Dims &dims) {
  Dims result;
  for (int64_t dim : dims) {
    result.push_back(values[dim]);
  }
  return result;
}

TensorInfo asPlain(TensorInfo info) {
  info.format.clear();
  return info;
}

TensorInfo storedAs(const TensorInfo &info) {
  if (!isChannelsLast(info)) {
    return asPlain(info);
  }
  Dims order = channelsLastOrder(info.rank());
  return {info.type, permuted(info.extents, order),
          permuted(info.offset, order), permuted(info.global, order)};
}

TensorInfo preferChannelsLast(TensorInfo info) {
  Dims wide;
  for (int64_t dim : channelsLastOrder(std::max<size_t>(info.rank(), 2))) {
    if (info.rank() >= 3 && info.extents[dim] != 1) {
      wide.push_back(dim);
    }
  }
  if (isPlain(info) && info.rank() >= 3 &&
      std::is_sorted(wide.begin(), wide.end())) {
    info.format = channelsLast;
  }
  return info;
}

Dims stridesOf(const TensorInfo &info) {
  TensorInfo stored = storedAs(info);
  Dims strides = rowMajorStrides(stored.extents);
  if (isChannelsLast(info)) {
    Dims order = channelsLastOrder(info.rank()), byDim(info.rank());
    for (size_t i = 0; i < order.size(); ++i) {
      byDim[order[i]] = strides[i];
    }
    return byDim;
  }
  return strides;
}

//===----------------------------------------------------------------------===//
// pack
//===----------------------------------------------------------------------===//

static bool acceptsPack(const CallSite &site) {
  return site.operands.size() == 1 && site.results.size() == 1 &&
         isPlainOrChannelsLast(site) &&
         isSameBox(site.operands[0], site.results[0]) &&
         site.operands[0].type == site.results[0].type;
}

static std::unique_ptr<PreparedKernel> preparePack(const CallSite &site,
                                                   std::string &error) {
  if (!Checks(site, error).counts(1, 1)) {
    return nullptr;
  }
  const TensorInfo &from = site.operands[0], &to = site.results[0];
  StridedCopy copy(byteWidth(to.type), to.extents, {0, stridesOf(to)},
                   {0, stridesOf(from)});
  return makeKernel([copy](auto operands, auto results, void *) {
    copy.run(results[0], operands[0]);
  });
}

Kernel packKernel() {
  Kernel kernel{packOp, 1, KernelUse::Whole, queryNothing, preparePack};
  kernel.accepts = acceptsPack;
  kernel.takesFormats = true;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Through row-major order
//===----------------------------------------------------------------------===//

namespace {

/// One tensor of a call: where it is row-major in the workspace, unless it is
/// so where it lies.
struct Side {
  StridedCopy copy;
  int64_t at = -1; ///< Its offset; -1: where it lies.

  void *locate(const void *given, void *workspace) const {
    return at < 0 ? const_cast<void *>(given)
                  : static_cast<std::byte *>(workspace) + at;
  }
};

/// The row-major call in the place of one with formats.
struct PlainCall {
  explicit PlainCall(const CallSite &site) : site(site) {
    for (const TensorInfo &info : site.operands) {
      add(info, /*isResult=*/false, operands, from);
    }
    for (const TensorInfo &info : site.results) {
      add(info, /*isResult=*/true, results, to);
    }
    this->site.operands = operands;
    this->site.results = results;
  }

  void add(const TensorInfo &info, bool isResult,
           std::vector<TensorInfo> &infos, std::vector<Side> &sides) {
    infos.push_back(asPlain(info));
    Side &side = sides.emplace_back();
    if (!isPlain(info)) {
      Walk own{0, stridesOf(info)}, plain{0, rowMajorStrides(info.extents)};
      side.copy = StridedCopy(byteWidth(info.type), info.extents,
                              isResult ? own : plain, isResult ? plain : own);
      side.at = workspaceBytes;
      workspaceBytes += (info.bytes() + 63) / 64 * 64;
    }
  }

  std::vector<TensorInfo> operands, results;
  std::vector<Side> from, to;
  int64_t workspaceBytes = 0; ///< The inner kernel's comes behind.
  CallSite site;
};

class ThroughPlainKernel final : public PreparedKernel {
public:
  ThroughPlainKernel(const PlainCall &call,
                     std::unique_ptr<PreparedKernel> inner)
      : from_(call.from), to_(call.to), innerAt_(call.workspaceBytes),
        operands_(from_.size()), results_(to_.size()),
        inner_(std::move(inner)) {}

  Status launch(LaunchContext &context) override {
    void *workspace = context.workspace;
    for (size_t i = 0; i < from_.size(); ++i) {
      void *at = from_[i].locate(context.operands[i], workspace);
      if (at != context.operands[i]) {
        from_[i].copy.run(at, context.operands[i]);
      }
      operands_[i] = at;
    }
    for (size_t i = 0; i < to_.size(); ++i) {
      results_[i] = to_[i].locate(context.results[i], workspace);
    }
    LaunchContext inner = context;
    inner.operands = operands_;
    inner.results = results_;
    inner.workspace = static_cast<std::byte *>(workspace) + innerAt_;
    Status status = inner_->launch(inner);
    for (size_t i = 0; i < to_.size() && status.isOk(); ++i) {
      if (results_[i] != context.results[i]) {
        to_[i].copy.run(context.results[i], results_[i]);
      }
    }
    context.badIndex = std::move(inner.badIndex);
    return status;
  }
  std::vector<PackedBytes> packed() const override { return inner_->packed(); }

private:
  std::vector<Side> from_, to_;
  int64_t innerAt_;
  std::vector<const void *> operands_; ///< Of the present launch.
  std::vector<void *> results_;
  std::unique_ptr<PreparedKernel> inner_;
};

} // namespace

static bool acceptsThroughPlain(const CallSite &site) {
  return hasFormats(site) && isPlainOrChannelsLast(site) &&
         referenceBackend().find(PlainCall(site).site) != nullptr;
}

/// A result goes over an operand of its own format only.
static KernelQuery queryThroughPlain(const CallSite &site) {
  PlainCall call(site);
  KernelQuery query;
  if (const Kernel *kernel = referenceBackend().find(call.site)) {
    query = kernel->query(call.site);
    query.workspaceBytes += call.workspaceBytes;
    query.reorderedBytes += call.workspaceBytes;
    query.views.clear();
    query.unread.clear();
    std::erase_if(query.inPlace, [&](std::pair<int, int> pair) {
      return site.operands[pair.first].format !=
             site.results[pair.second].format;
    });
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareThroughPlain(const CallSite &site,
                                                           std::string &error) {
  PlainCall call(site);
  const Kernel *kernel = referenceBackend().find(call.site);
  std::unique_ptr<PreparedKernel> inner =
      kernel ? kernel->prepare(call.site, error) : nullptr;
  return inner ? std::make_unique<ThroughPlainKernel>(call, std::move(inner))
               : nullptr;
}

std::vector<Kernel> throughPlain(std::span<const Kernel> plain) {
  std::vector<Kernel> kernels;
  for (const Kernel &kernel : plain) {
    Kernel &added = kernels.emplace_back(
        Kernel{kernel.op, kernel.version, KernelUse::Whole, queryThroughPlain,
               prepareThroughPlain, acceptsThroughPlain});
    added.takesFormats = true;
  }
  return kernels;
}

} // namespace divisi::rt
