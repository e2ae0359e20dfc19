//===- Points.cpp - Functions of elements and lines by oneDNN -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only what costs a library function per element: the rest is as fast in plain
// loops. The exponential, for which oneDNN drops NaN, stays with the reference.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/PostOps.h"
#include "runtime/kernels/Families.h"

#include <algorithm>
#include <limits>

namespace divisi::rt::cpu {
namespace {

/// Lines of which each element depends on all others.
struct Lines {
  int64_t count = 0, length = 0;
};

/// oneDNN's softmax leaves NaN out of a line's sum: makes all of it NaN.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
spreadNaN(float *line, int64_t length) {
  int odd = 0;
  for (int64_t i = 0; i < length; ++i) {
    odd |= line[i] != line[i] ? 1 : 0;
  }
  if (odd != 0) {
    std::fill_n(line, length, std::numeric_limits<float>::quiet_NaN());
  }
}

class PointKernel final : public PreparedKernel {
public:
  PointKernel(Primitive primitive, int threads, Lines lines)
      : primitive_(std::move(primitive)), threads_(threads), lines_(lines) {}
  Status launch(LaunchContext &context) override {
    TeamSize team(threads_);
    bool done = primitive_.run({context.operands[0], context.results[0]},
                               context.workspace);
    auto *y = static_cast<float *>(context.results[0]);
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < lines_.count; ++line) {
      spreadNaN(y + line * lines_.length, lines_.length);
    }
    return done ? Status() : kernelFailure();
  }

private:
  Primitive primitive_;
  int threads_;
  Lines lines_; ///< Of a softmax.
};

} // namespace

/// An exponential and what is around it, of each element.
static int threadsOf(const CallSite &site) {
  constexpr double operations = 20;
  return teamFor(site.threads, operations * double(site.results[0].count()));
}

/// One f32 operand with the result's box, not empty, and the reference kernel's
/// consent to the attributes.
static bool isPlain(const CallSite &site) {
  std::string ignored;
  return engine() && Checks(site, ignored).counts(1, 1) &&
         site.operands[0].type == DType::F32 &&
         site.results[0].type == DType::F32 && site.results[0].count() > 0 &&
         site.results[0].rank() > 0 &&
         isSameBox(site.operands[0], site.results[0]) &&
         referenceBackend().find(site)->prepare(site, ignored) != nullptr;
}

/// The lines of a softmax whose elements lie side by side; none of others, in
/// which oneDNN loses no NaN.
static Lines linesOf(const CallSite &site) {
  const Dims &extents = site.results[0].extents;
  bool isLast = site.op == "nn.softmax" &&
                site.attributes.getInt("axis") == int64_t(extents.size()) - 1;
  return isLast
             ? Lines{site.results[0].count() / extents.back(), extents.back()}
             : Lines();
}

using MakeDesc = PrimitiveDesc (*)(const CallSite &site, MemoryDesc &memory);

template <MakeDesc Make>
static std::unique_ptr<PreparedKernel> preparePoint(const CallSite &site,
                                                    std::string &error) {
  MemoryDesc memory;
  if (isPlain(site)) {
    TeamSize team(threadsOf(site));
    PrimitiveDesc desc = Make(site, memory);
    if (desc && isOptimized(desc.get())) {
      Primitive primitive(desc.get());
      if (primitive) {
        primitive.bind(DNNL_ARG_SRC, memory.get());
        primitive.bind(DNNL_ARG_DST, memory.get());
      }
      if (primitive) {
        return std::make_unique<PointKernel>(std::move(primitive),
                                             threadsOf(site), linesOf(site));
      }
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this call";
  return nullptr;
}

template <MakeDesc Make> static bool acceptsPoint(const CallSite &site) {
  std::string ignored;
  return preparePoint<Make>(site, ignored) != nullptr;
}

template <MakeDesc Make> static KernelQuery queryPoint(const CallSite &site) {
  TeamSize team(threadsOf(site));
  KernelQuery query = queryInPlace(site);
  MemoryDesc memory;
  if (PrimitiveDesc desc = Make(site, memory)) {
    query.workspaceBytes = scratchpadBytes(desc.get());
  }
  return query;
}

static PrimitiveDesc makeEltwise(const CallSite &site, MemoryDesc &memory) {
  std::optional<dnnl_alg_kind_t> algorithm =
      eltwiseOf(site.op, site.attributes);
  if (!algorithm) {
    return nullptr;
  }
  memory = describe({site.results[0].count()}, {1});
  PrimitiveAttr attr = scratchpadAttr();
  auto [alpha, beta] = eltwiseArguments(*algorithm);
  dnnl_primitive_desc_t desc = nullptr;
  if (!memory || !attr ||
      !isDone(dnnl_eltwise_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference, *algorithm, memory.get(),
          memory.get(), alpha, beta, attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

static PrimitiveDesc makeSoftmax(const CallSite &site, MemoryDesc &memory) {
  const Dims &extents = site.results[0].extents;
  memory = describe(extents, rowMajorStrides(extents));
  PrimitiveAttr attr = scratchpadAttr();
  dnnl_primitive_desc_t desc = nullptr;
  if (!memory || !attr ||
      !isDone(dnnl_softmax_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference,
          site.attributes.getInt("log") ? dnnl_softmax_log
                                        : dnnl_softmax_accurate,
          memory.get(), memory.get(), int(site.attributes.getInt("axis")),
          attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

/// Centred, over trailing dimensions: oneDNN's layer normalization.
static PrimitiveDesc makeNormalize(const CallSite &site, MemoryDesc &memory) {
  const Dims &extents = site.results[0].extents;
  Dims axes = site.attributes.getInts("axes");
  size_t outer = extents.size() - axes.size();
  if (!site.attributes.getInt("center") || axes.empty() ||
      axes.front() != int64_t(outer)) {
    return nullptr;
  }
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    (d < outer ? rows : columns) *= extents[d];
  }
  memory = describe({rows, columns}, {columns, 1});
  MemoryDesc statistics = describeAny({rows});
  PrimitiveAttr attr = scratchpadAttr();
  dnnl_primitive_desc_t desc = nullptr;
  if (!memory || !statistics || !attr ||
      !isDone(dnnl_layer_normalization_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference, memory.get(), memory.get(),
          statistics.get(), float(site.attributes.getFloat("epsilon")), 0,
          attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

template <MakeDesc Make>
static constexpr Kernel makeKernelRow(std::string_view op) {
  return {op,
          1,
          KernelUse::Whole,
          queryPoint<Make>,
          preparePoint<Make>,
          acceptsPoint<Make>};
}

std::span<const Kernel> pointKernels() {
  static constexpr Kernel kernels[] = {
      makeKernelRow<makeEltwise>("nn.gelu"),
      makeKernelRow<makeNormalize>("nn.normalize"),
      makeKernelRow<makeSoftmax>("nn.softmax"),
      makeKernelRow<makeEltwise>("nn.tanh"),
  };
  return kernels;
}

} // namespace divisi::rt::cpu
