//===- ConvEpilogue.cpp - What cuDNN does behind a convolution ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/ConvEpilogue.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

namespace {

/// An operator of both.
struct Known {
  std::string_view op;
  cudnnPointwiseMode_t mode;
};

} // namespace

static constexpr Known unary[] = {
    {"nn.relu", CUDNN_POINTWISE_RELU_FWD},
    {"nn.sigmoid", CUDNN_POINTWISE_SIGMOID_FWD},
    {"nn.silu", CUDNN_POINTWISE_SWISH_FWD},
    {"nn.tanh", CUDNN_POINTWISE_TANH_FWD},
};

static constexpr Known binary[] = {
    {"nn.add", CUDNN_POINTWISE_ADD}, {"nn.div", CUDNN_POINTWISE_DIV},
    {"nn.max", CUDNN_POINTWISE_MAX}, {"nn.min", CUDNN_POINTWISE_MIN},
    {"nn.mul", CUDNN_POINTWISE_MUL}, {"nn.sub", CUDNN_POINTWISE_SUB},
};

static const Known *findIn(std::span<const Known> table, std::string_view op) {
  auto found = std::ranges::find(table, op, &Known::op);
  return found == table.end() ? nullptr : &*found;
}

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
  if (part.results.size() != 1 || part.results[0].type != result.type ||
      part.results[0].extents != result.extents ||
      std::ranges::count(part.operands, chain) != 1) {
    return std::nullopt;
  }
  if (part.op == "nn.gelu") {
    bool isTanh = part.attributes.getString("approximate") == "tanh";
    return ConvStep{isTanh ? CUDNN_POINTWISE_GELU_APPROX_TANH_FWD
                           : CUDNN_POINTWISE_GELU_FWD};
  }
  if (const Known *found = findIn(unary, part.op)) {
    return ConvStep{found->mode};
  }
  const Known *found = findIn(binary, part.op);
  if (!found || part.operands.size() != 2) {
    return std::nullopt;
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
