//===- Native.cpp - Regions that the compiler has made code of ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/NativeObject.h"
#include "runtime/backends/cpu/Team.h"

#include <algorithm>

namespace divisi::rt::cpu {
namespace {

/// A thread has so much to do at least, in elements times what operators make
/// of each: it takes some microseconds to wake one.
constexpr int64_t fewestSteps = 131072;

/// What the operator takes of each element, a sum being 1.
int64_t stepsOf(const RegionPart &part) {
  if (const RowOperator *row = findRowOperator(part.op)) {
    return row->steps;
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  return facts && facts->cost == FunctionCost::Many ? 4 : 1;
}

/// How many threads a call is for.
int sharesOf(const CallSite &site, const RowNest &nest) {
  int64_t steps = 0;
  for (const RegionPart &part : site.region->parts) {
    steps += stepsOf(part) * nest.rows() * nest.columns();
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

/// A part of the results, as code is told of it.
struct Piece {
  RowCall::Piece piece;
  Dims numbers; ///< RowArguments::numbers
  /// Of the present launch.
  std::vector<const void *> tensors;

  explicit Piece(RowCall::Piece from);
  RowArguments shareOf(int share, int shares) const;
};

/// Calls the code, for a part of the rows for each thread.
class PreparedNative final : public PreparedKernel {
public:
  PreparedNative(const CallSite &site, const RowCall &call,
                 std::shared_ptr<const NativeObject> object);
  Status launch(LaunchContext &context) override;
  std::vector<PartKernel> parts() const override { return parts_; }

private:
  static void runShare(void *self, int share);

  std::shared_ptr<const NativeObject> object_;
  std::vector<PartKernel> parts_;
  std::vector<Piece> pieces_;
  int64_t scratchColumns_, scratchBytes_;
  int shares_;
  std::byte *scratch_ = nullptr; ///< Of the present launch.
};

} // namespace

Piece::Piece(RowCall::Piece from)
    : piece(std::move(from)), numbers(piece.nest.extents),
      tensors(piece.tensors.size()) {
  for (const RowNest::Tensor &tensor : piece.nest.tensors) {
    numbers.insert(numbers.end(), tensor.strides.begin(), tensor.strides.end());
  }
}

/// Rows are cut between threads, or columns where there are too few.
RowArguments Piece::shareOf(int share, int shares) const {
  int64_t rows = piece.nest.rows(), columns = piece.nest.columns();
  bool cutsRows = piece.nest.hasRowOperators || rows >= shares;
  auto cut = [&](int64_t count, int64_t unit, int i) {
    return std::min((count + unit - 1) / unit * i / shares * unit, count);
  };
  RowArguments arguments = {};
  arguments.tensors = tensors.data();
  arguments.numbers = numbers.data();
  arguments.rowBegin = cutsRows ? cut(rows, 1, share) : 0;
  arguments.rowEnd = cutsRows ? cut(rows, 1, share + 1) : rows;
  arguments.columnBegin = cutsRows ? 0 : cut(columns, 64, share);
  arguments.columnEnd = cutsRows ? columns : cut(columns, 64, share + 1);
  return arguments;
}

PreparedNative::PreparedNative(const CallSite &site, const RowCall &call,
                               std::shared_ptr<const NativeObject> object)
    : object_(std::move(object)), scratchColumns_(call.nest().scratchColumns()),
      scratchBytes_(scratchBytes(call.nest())),
      shares_(sharesOf(site, call.nest())) {
  for (RowCall::Piece &piece : call.pieces()) {
    pieces_.emplace_back(std::move(piece));
  }
  for (const RegionPart &part : site.region->parts) {
    parts_.push_back({part.op, "native"});
  }
}

void PreparedNative::runShare(void *self, int share) {
  auto &kernel = *static_cast<PreparedNative *>(self);
  for (const Piece &piece : kernel.pieces_) {
    RowArguments arguments = piece.shareOf(share, kernel.shares_);
    arguments.scratch = reinterpret_cast<float *>(kernel.scratch_ +
                                                  share * kernel.scratchBytes_);
    arguments.scratchColumns = kernel.scratchColumns_;
    kernel.object_->function()(&arguments);
  }
}

Status PreparedNative::launch(LaunchContext &context) {
  scratch_ = static_cast<std::byte *>(context.workspace);
  for (Piece &piece : pieces_) {
    for (size_t t = 0; t < piece.tensors.size(); ++t) {
      auto number = static_cast<size_t>(piece.piece.tensors[t]);
      const void *begin =
          number < context.operands.size()
              ? context.operands[number]
              : context.results[number - context.operands.size()];
      piece.tensors[t] =
          static_cast<const std::byte *>(begin) + piece.piece.begins[t];
    }
  }
  // Of one size, as all teams of a thread.
  forEach(context.threads, shares_, &runShare, this);
  return {};
}

static bool acceptsNative(const CallSite &site) {
  return runsOnHost(site.code->target) && RowCall::of(site);
}

/// What lies over what is planned for code and interpreter alike: the same call
/// may be run by either. Code goes through rows in step with its results, so it
/// may write over what lies there as they do.
static KernelQuery queryNative(const CallSite &site) {
  CallSite plain = site;
  plain.code = nullptr;
  const Kernel *kernel = cpuBackend().find(plain);
  KernelQuery query = kernel ? kernel->query(plain) : KernelQuery();
  RowCall call = *RowCall::of(site);
  const RowNest &nest = call.nest();
  size_t results = nest.tensors.size() - site.results.size();
  std::erase_if(query.inPlace, [&](std::pair<int, int> pair) {
    int tensor = call.tensorOf(pair.first);
    const RowNest::Tensor &to = nest.tensors[results + pair.second];
    return tensor < 0 || nest.tensors[tensor].strides != to.strides ||
           byteWidth(nest.tensors[tensor].type) != byteWidth(to.type);
  });
  query.reorderedBytes = 0;
  query.packed.clear();
  query.unread.clear();
  query.workspaceBytes =
      std::max(query.workspaceBytes, sharesOf(site, nest) * scratchBytes(nest));
  return query;
}

static std::unique_ptr<PreparedKernel> prepareNative(const CallSite &site,
                                                     std::string &error) {
  auto object = NativeObject::load(site.code->bytes);
  if (!object) {
    error = object.status().message();
    return nullptr;
  }
  return std::make_unique<PreparedNative>(site, *RowCall::of(site),
                                          std::move(*object));
}

std::span<const Kernel> nativeKernels() {
  static const Kernel kernels[] = {[] {
    Kernel kernel{fusedOp, 1, KernelUse::Whole, queryNative, prepareNative};
    kernel.accepts = acceptsNative;
    kernel.takesFormats = kernel.takesCode = true;
    return kernel;
  }()};
  return kernels;
}

} // namespace divisi::rt::cpu
