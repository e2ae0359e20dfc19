//===- Native.cpp - Regions that the compiler has made code of ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/NativeObject.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Region.h"
#include "runtime/kernels/RowNest.h"

#include <algorithm>

namespace divisi::rt::cpu {
namespace {

/// A thread has so much to do at least, in elements times what operators make
/// of each: it takes some microseconds to wake one.
constexpr int64_t fewestSteps = 131072;

/// Calls the code, for a part of the rows for each thread.
class PreparedNative final : public PreparedKernel {
public:
  PreparedNative(const RowNest &nest, int shares,
                 std::shared_ptr<const NativeObject> object);
  Status launch(LaunchContext &context) override;
  std::vector<PartKernel> parts() const override { return parts_; }
  void setParts(const Region &region);

private:
  static void runShare(void *self, int share);
  RowArguments shareOf(int share) const;

  std::shared_ptr<const NativeObject> object_;
  std::vector<PartKernel> parts_;
  Dims numbers_; ///< RowArguments::numbers
  int64_t rows_, columns_;
  int64_t scratchColumns_, scratchBytes_;
  bool cutsRows_; ///< Else there is nothing to divide but columns.
  int shares_ = 1;
  /// Of the present launch.
  std::vector<const void *> tensors_;
  std::byte *scratch_ = nullptr;
};

/// What the operator takes of each element, a sum being 1.
int64_t stepsOf(std::string_view op) {
  for (std::string_view costly :
       {"nn.softmax", "nn.exp", "nn.log", "nn.erf", "nn.tanh", "nn.sigmoid",
        "nn.silu", "nn.gelu"}) {
    if (op == costly) {
      return 8;
    }
  }
  return op == "nn.normalize" ? 4 : 1;
}

/// How many threads a call is for.
int sharesOf(const CallSite &site, const RowNest &nest) {
  int64_t steps = 0;
  for (const RegionPart &part : site.region->parts) {
    steps += stepsOf(part.op) * nest.rows() * nest.columns();
  }
  int64_t most = nest.hasRowOperators
                     ? nest.rows()
                     : std::max(nest.rows(), nest.columns() / 64);
  return static_cast<int>(std::clamp<int64_t>(
      std::min(steps / fewestSteps, most), 1, site.threads));
}

/// The scratch memory of one thread.
int64_t scratchBytes(const RowNest &nest) {
  return nest.scratchRows * nest.scratchColumns() * int64_t(sizeof(float));
}

} // namespace

PreparedNative::PreparedNative(const RowNest &nest, int shares,
                               std::shared_ptr<const NativeObject> object)
    : object_(std::move(object)), numbers_(nest.extents), rows_(nest.rows()),
      columns_(nest.columns()), scratchColumns_(nest.scratchColumns()),
      scratchBytes_(scratchBytes(nest)), shares_(shares),
      tensors_(nest.tensors.size()) {
  for (const RowNest::Tensor &tensor : nest.tensors) {
    numbers_.insert(numbers_.end(), tensor.strides.begin(),
                    tensor.strides.end());
  }
  cutsRows_ = nest.hasRowOperators || rows_ >= shares_;
}

void PreparedNative::setParts(const Region &region) {
  for (const RegionPart &part : region.parts) {
    parts_.push_back({part.op, "native"});
  }
}

RowArguments PreparedNative::shareOf(int share) const {
  auto cut = [&](int64_t count, int64_t unit) {
    int64_t units = (count + unit - 1) / unit;
    return [=, this](int i) {
      return std::min(units * i / shares_ * unit, count);
    };
  };
  auto rows = cut(cutsRows_ ? rows_ : 0, 1);
  auto columns = cut(cutsRows_ ? 0 : columns_, 64);
  RowArguments arguments = {};
  arguments.tensors = tensors_.data();
  arguments.numbers = numbers_.data();
  arguments.scratch =
      reinterpret_cast<float *>(scratch_ + share * scratchBytes_);
  arguments.scratchColumns = scratchColumns_;
  arguments.rowBegin = cutsRows_ ? rows(share) : 0;
  arguments.rowEnd = cutsRows_ ? rows(share + 1) : rows_;
  arguments.columnBegin = cutsRows_ ? 0 : columns(share);
  arguments.columnEnd = cutsRows_ ? columns_ : columns(share + 1);
  return arguments;
}

void PreparedNative::runShare(void *self, int share) {
  auto &kernel = *static_cast<PreparedNative *>(self);
  RowArguments arguments = kernel.shareOf(share);
  kernel.object_->function()(&arguments);
}

Status PreparedNative::launch(LaunchContext &context) {
  auto end = std::copy(context.operands.begin(), context.operands.end(),
                       tensors_.begin());
  std::copy(context.results.begin(), context.results.end(), end);
  scratch_ = static_cast<std::byte *>(context.workspace);
  forEach(shares_, shares_, &runShare, this);
  return {};
}

static bool acceptsNative(const CallSite &site) {
  return runsOnHost(site.code->target) && RowNest::of(site);
}

/// What lies over what is planned for code and interpreter alike: the same call
/// may be run by either. Code goes through rows in step with its results, so it
/// may write over what lies there as they do.
static KernelQuery queryNative(const CallSite &site) {
  CallSite plain = site;
  plain.code = nullptr;
  KernelQuery query = queryRegion(plain, regionRunner());
  RowNest nest = *RowNest::of(site);
  std::erase_if(query.inPlace, [&](std::pair<int, int> pair) {
    const RowNest::Tensor &from = nest.tensors[pair.first];
    const RowNest::Tensor &to =
        nest.tensors[site.operands.size() + pair.second];
    return from.strides != to.strides ||
           byteWidth(from.type) != byteWidth(to.type);
  });
  query.packedBytes = 0;
  query.workspaceBytes =
      std::max(query.workspaceBytes, sharesOf(site, nest) * scratchBytes(nest));
  return query;
}

static std::unique_ptr<PreparedKernel> prepareNative(const CallSite &site,
                                                     std::string &error) {
  std::optional<RowNest> nest = RowNest::of(site);
  auto object = NativeObject::load(site.code->bytes);
  if (!object) {
    error = object.status().message();
    return nullptr;
  }
  auto kernel = std::make_unique<PreparedNative>(*nest, sharesOf(site, *nest),
                                                 std::move(*object));
  kernel->setParts(*site.region);
  return kernel;
}

std::span<const Kernel> nativeKernels() {
  static const Kernel kernels[] = {[] {
    Kernel kernel{fusedOp, 1, KernelUse::Whole, queryNative, prepareNative};
    kernel.accepts = acceptsNative;
    kernel.takesCode = true;
    return kernel;
  }()};
  return kernels;
}

} // namespace divisi::rt::cpu
