//===- Launched.cpp - Operators that are one launch -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridAttentionGradient.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridColumns.h"
#include "divisi/runtime/code/GridConvolution.h"
#include "divisi/runtime/code/GridLines.h"
#include "divisi/runtime/code/GridPlaces.h"
#include "divisi/runtime/code/GridProduct.h"
#include "divisi/runtime/code/GridReduce.h"
#include "divisi/runtime/code/GridWindows.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PreparedLaunches.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

template <typename Plan> static bool accepts(const CallSite &site) {
  return isGridTarget(site.code->target) && Plan::of(site).has_value();
}

static KernelQuery queryNothing(const CallSite &) { return {}; }

template <typename Plan>
static std::unique_ptr<PreparedKernel> prepare(const CallSite &site,
                                               std::string &error) {
  return prepareCode<PreparedLaunches>(site, error,
                                       std::vector{Plan::of(site)->launch()});
}

template <typename Plan>
static constexpr Kernel makeKernel(std::string_view op, bool takesFormats) {
  return {op,
          1,
          KernelUse::Whole,
          queryNothing,
          prepare<Plan>,
          accepts<Plan>,
          takesFormats,
          /*takesCode=*/true};
}

std::span<const Kernel> divisi::rt::cuda::launchedKernels() {
  static constexpr Kernel kernels[] = {
      makeKernel<GridPick>("nn.arg_reduce", false),
      makeKernel<GridAttention>("nn.attention", false),
      makeKernel<GridAttentionGradient>("nn.attention_gradient", false),
      makeKernel<GridAttention>("nn.attention_lse", false),
      makeKernel<GridConvolution>("nn.conv", false),
      makeKernel<GridConvolution>("nn.conv_dgrad", false),
      makeKernel<GridConvolution>("nn.conv_integer", false),
      makeKernel<GridCumulate>("nn.cumulate", false),
      makeKernel<GridIota>("nn.iota", false),
      makeKernel<GridProduct>("nn.matmul", false),
      makeKernel<GridProduct>("nn.matmul_integer", false),
      makeKernel<GridColumns>("nn.normalize", false),
      makeKernel<GridPool>("nn.pool_max", true),
      makeKernel<GridPool>("nn.pool_sum", true),
      makeKernel<GridReduce>("nn.reduce", true),
      makeKernel<GridResample>("nn.resample", true),
      makeKernel<GridRotary>("nn.rotary", false),
      makeKernel<GridColumns>("nn.softmax", false),
      makeKernel<GridPick>("nn.top_k", false)};
  return kernels;
}
