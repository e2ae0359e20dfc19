//===- Threaded.cpp - Reference kernels on several threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread is a shard: the result's box is cut along its outermost dimension,
// and each thread runs the reference kernel on its piece, which is contiguous.
// The cut depends on the shape and the number of threads alone; every result is
// computed as one thread would compute it, so that the bits do not change.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"

#include <algorithm>
#include <vector>

namespace divisi::rt::cpu {
namespace {

/// Less work is done sooner than a team wakes up.
constexpr int64_t leastElements = 32768;

struct Piece {
  std::unique_ptr<PreparedKernel> kernel;
  int64_t resultBytes = 0; ///< Before the piece.
  int64_t workspace = 0;   ///< Its part of the workspace, as an offset.
};

struct Pieces {
  std::vector<Piece> all;
  int64_t workspaceBytes = 0; ///< Of all of them.
};

class ThreadedKernel final : public PreparedKernel {
public:
  explicit ThreadedKernel(std::vector<Piece> pieces)
      : pieces_(std::move(pieces)) {}

  Status launch(LaunchContext &context) override {
    int count = int(pieces_.size()), firstFailed = count;
    Status failure;
    TeamSize team(context.threads);
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; ++i) {
      void *result =
          static_cast<std::byte *>(context.results[0]) + pieces_[i].resultBytes;
      LaunchContext piece{context.operands,
                          {&result, 1},
                          static_cast<std::byte *>(context.workspace) +
                              pieces_[i].workspace};
      Status status = pieces_[i].kernel->launch(piece);
      if (!status.isOk() || piece.badIndex) {
#pragma omp critical(divisiThreadedKernel)
        {
          if (!status.isOk() && i < firstFailed) {
            firstFailed = i;
            failure = status;
          }
          if (piece.badIndex) {
            context.note(std::move(*piece.badIndex));
          }
        }
      }
    }
    return failure;
  }

private:
  std::vector<Piece> pieces_; ///< No more than threads.
};

} // namespace

/// The outermost dimension that can be cut into contiguous pieces.
static size_t findCut(const TensorInfo &result) {
  size_t dim = 0;
  while (dim < result.rank() && result.extents[dim] == 1) {
    ++dim;
  }
  return dim;
}

/// Who makes the pieces; null if nobody does.
static const Kernel *makerOf(const CallSite &site) {
  for (std::span<const Kernel> family : {poolKernels(), reduceKernels()}) {
    for (const Kernel &kernel : family) {
      if (kernel.op == site.op && kernel.accepts(site)) {
        return &kernel;
      }
    }
  }
  return referenceBackend().find(site);
}

/// Nothing if their kernel refuses a piece.
static std::optional<Pieces> makePieces(const CallSite &site,
                                        std::string &error) {
  const Kernel *maker = makerOf(site);
  const TensorInfo &whole = site.results[0];
  size_t dim = findCut(whole);
  int64_t extent = whole.extents[dim], row = whole.bytes() / extent;
  int64_t count = std::min<int64_t>(site.threads, extent);
  Pieces pieces;
  WorkspaceParts parts;
  for (int64_t i = 0; i < count; ++i) {
    TensorInfo part = whole;
    int64_t begin = extent * i / count;
    part.offset[dim] += begin;
    part.extents[dim] = extent * (i + 1) / count - begin;
    CallSite partSite{site.op, site.attributes, site.operands, {&part, 1}};
    partSite.checksIndices = site.checksIndices;
    std::unique_ptr<PreparedKernel> kernel = maker->prepare(partSite, error);
    if (!kernel) {
      return std::nullopt;
    }
    int64_t workspace = parts.add(maker->query(partSite).workspaceBytes);
    pieces.all.push_back({std::move(kernel), begin * row, workspace});
  }
  pieces.workspaceBytes = parts.bytes();
  return pieces;
}

static KernelQuery queryThreaded(const CallSite &site) {
  KernelQuery query = makerOf(site)->query(site);
  std::string ignored;
  std::optional<Pieces> pieces = makePieces(site, ignored);
  query.workspaceBytes = pieces ? pieces->workspaceBytes : 0;
  query.unread.clear();
  return query;
}

static std::unique_ptr<PreparedKernel> prepareThreaded(const CallSite &site,
                                                       std::string &error) {
  std::optional<Pieces> pieces = makePieces(site, error);
  return pieces ? std::make_unique<ThreadedKernel>(std::move(pieces->all))
                : nullptr;
}

/// Large results that the reference kernel, too, can compute.
static bool acceptsThreaded(const CallSite &site) {
  if (site.threads < 2 || site.results.size() != 1) {
    return false;
  }
  const TensorInfo &result = site.results[0];
  int64_t work = result.count();
  for (const TensorInfo &operand : site.operands) {
    work = std::max(work, operand.count());
  }
  if (work < leastElements || findCut(result) == result.rank() ||
      result.extents[findCut(result)] == 0) {
    return false;
  }
  std::string ignored;
  const Kernel *maker = makerOf(site);
  // A view is for the runtime to take: nothing is faster than no copy. A cut
  // through lines that need all their elements is refused by the kernel.
  return maker && maker->query(site).views.empty() &&
         makePieces(site, ignored).has_value();
}

std::span<const Kernel> threadedKernels() {
  static const std::vector<Kernel> table = [] {
    std::vector<Kernel> kernels;
    for (const Kernel &reference : referenceBackend().kernels()) {
      if (reference.use == KernelUse::Parts) {
        kernels.push_back({reference.op, reference.version, KernelUse::Whole,
                           queryThreaded, prepareThreaded, acceptsThreaded});
      }
    }
    return kernels;
  }();
  return table;
}

} // namespace divisi::rt::cpu
