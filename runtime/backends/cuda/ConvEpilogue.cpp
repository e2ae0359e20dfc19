//===- ConvEpilogue.cpp - What cuDNN does behind a convolution ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/ConvEpilogue.h"

#include "divisi/runtime/kernels/ScalarFunctions.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// A function of both.
struct Known {
  ScalarFunction function;
  cudnnPointwiseMode_t mode;
};

} // namespace

static constexpr Known known[] = {
    {ScalarFunction::Add, CUDNN_POINTWISE_ADD},
    {ScalarFunction::Div, CUDNN_POINTWISE_DIV},
    {ScalarFunction::Max, CUDNN_POINTWISE_MAX},
    {ScalarFunction::Min, CUDNN_POINTWISE_MIN},
    {ScalarFunction::Mul, CUDNN_POINTWISE_MUL},
    {ScalarFunction::Sub, CUDNN_POINTWISE_SUB},
    {ScalarFunction::Relu, CUDNN_POINTWISE_RELU_FWD},
    {ScalarFunction::Sigmoid, CUDNN_POINTWISE_SIGMOID_FWD},
    {ScalarFunction::Silu, CUDNN_POINTWISE_SWISH_FWD},
    {ScalarFunction::Tanh, CUDNN_POINTWISE_TANH_FWD},
    {ScalarFunction::GeluErf, CUDNN_POINTWISE_GELU_FWD},
    {ScalarFunction::GeluTanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD},
};

bool ConvStep::compares() const {
  return mode == CUDNN_POINTWISE_RELU_FWD || mode == CUDNN_POINTWISE_MAX ||
         mode == CUDNN_POINTWISE_MIN;
}

TensorInfo divisi::rt::cuda::withRank(const TensorInfo &operand, size_t rank) {
  TensorInfo info = operand;
  size_t missing = rank - operand.rank();
  info.extents.insert(info.extents.begin(), missing, 1);
  info.offset.insert(info.offset.begin(), missing, 0);
  info.global.insert(info.global.begin(), missing, 1);
  return info;
}

/// Whether it is what of the result's box is wanted, and has the result's type;
/// along dimensions of one index it is for all.
static bool fits(const TensorInfo &operand, const TensorInfo &result) {
  if (operand.rank() > result.rank() || operand.type != result.type) {
    return false;
  }
  TensorInfo info = withRank(operand, result.rank());
  for (size_t d = 0; d < result.rank(); ++d) {
    bool isSame = info.extents[d] == result.extents[d] &&
                  info.offset[d] == result.offset[d];
    if (info.global[d] != 1 && !isSame) {
      return false;
    }
  }
  return info.format.empty() || info.format == result.format;
}

/// `part`, which goes on with `chain`.
static std::optional<ConvStep> readStep(const RegionPart &part, int chain,
                                        const CallSite &site) {
  const TensorInfo &result = site.results[0];
  if (part.results.size() != 1 || part.results[0].type != DType::F32 ||
      part.results[0].type != result.type ||
      part.results[0].extents != result.extents ||
      std::ranges::count(part.operands, chain) != 1) {
    return std::nullopt;
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  const auto *found =
      facts ? std::ranges::find(known, facts->function, &Known::function)
            : std::end(known);
  if (found == std::end(known) || part.operands.size() != facts->operands) {
    return std::nullopt;
  }
  if (facts->operands == 1) {
    return ConvStep{found->mode};
  }
  bool operandFirst = part.operands[1] == chain;
  int other = part.operands[operandFirst ? 0 : 1];
  if (other >= static_cast<int>(site.operands.size()) ||
      !fits(site.operands[static_cast<size_t>(other)], result)) {
    return std::nullopt;
  }
  return ConvStep{found->mode, other, operandFirst};
}

std::optional<std::vector<ConvStep>>
divisi::rt::cuda::findSteps(const CallSite &site) {
  std::vector<ConvStep> steps;
  if (!site.region) {
    return steps;
  }
  const Region &region = *site.region;
  auto chain = static_cast<int>(site.operands.size());
  auto last = chain + static_cast<int>(region.parts.size()) - 1;
  if (site.results.size() != 1 || region.results != std::vector{last} ||
      region.parts[0].results[0].type != site.results[0].type ||
      region.parts[0].results[0].extents != site.results[0].extents) {
    return std::nullopt;
  }
  for (size_t p = 1; p < region.parts.size(); ++p, ++chain) {
    auto step = readStep(region.parts[p], chain, site);
    if (!step || region.countReads(chain) != 1) {
      return std::nullopt;
    }
    steps.push_back(*step);
  }
  return steps;
}
