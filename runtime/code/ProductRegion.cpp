//===- ProductRegion.cpp - A product and what goes on with it -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/ProductRegion.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/code/StridedProduct.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;

static constexpr std::string_view productOp = "nn.matmul";

/// Whether it is an operator that libraries have, and regions begin with.
static bool isProduct(std::string_view op) {
  return op == productOp || op == "nn.conv" || op == "nn.conv_dgrad";
}

ProductRegion::ProductRegion(const CallSite &site, const RegionPart *first)
    : site_(&site), made_(first ? first->results[0] : site.results[0]) {
  numbers_.resize(site.operands.size());
  std::iota(numbers_.begin(), numbers_.end(), 0);
  numbers_ = first ? first->operands : numbers_;
  for (int number : numbers_) {
    operands_.push_back(site.operands[static_cast<size_t>(number)]);
  }
}

CallSite ProductRegion::product() const {
  const Region *region = site_->region;
  return {region ? std::string_view(region->parts[0].op) : site_->op,
          region ? region->parts[0].attributes : site_->attributes,
          operands_,
          {&made_, 1}};
}

CallSite ProductRegion::tail(const KernelCode *code) const {
  CallSite site{fusedOp, attributes_, tailOperands_, site_->results};
  site.threads = site_->threads;
  site.checksIndices = site_->checksIndices;
  site.code = code;
  site.region = &tail_;
  return site;
}

/// Whether nobody but operand 0 or 1 of `part` reads the value.
bool ProductRegion::isOnlyUse(int value, size_t part) const {
  const Region &region = *site_->region;
  return region.countReads(value) + std::ranges::count(region.results, value) ==
             1 &&
         std::ranges::count(region.parts[part].operands, value) == 1;
}

/// Whether it is one number for each column: it moves along these dimensions,
/// and along no other.
bool ProductRegion::isBias(const TensorInfo &operand) const {
  if (operand.rank() > made_.rank() || !operand.format.empty()) {
    return false;
  }
  size_t missing = made_.rank() - operand.rank();
  for (size_t d = 0; d < made_.rank(); ++d) {
    bool isColumn = std::ranges::count(columnDims_, static_cast<int64_t>(d)) &&
                    made_.global[d] != 1;
    bool moves = d >= missing && operand.global[d - missing] != 1;
    bool isSame =
        moves == isColumn &&
        (!moves || (operand.extents[d - missing] == made_.extents[d] &&
                    operand.offset[d - missing] == made_.offset[d] &&
                    operand.global[d - missing] == made_.global[d]));
    if (!isSame) {
      return false;
    }
  }
  return true;
}

/// Whether the library may do `part`, which goes on with `chain`:
/// it computes in f32, and rounds at the end alone what is f16 or bf16.
bool ProductRegion::take(const RegionPart &part, int chain) {
  if (part.results.size() != 1 || !isSameBox(part.results[0], made_) ||
      part.results[0].type != made_.type || made_.type != DType::F32) {
    return false;
  }
  const ScalarFacts *facts = findFunction(part.op, part.attributes);
  if (facts && facts->function == ScalarFunction::GeluTanh) {
    hasGelu_ = true;
    return true;
  }
  bool isSum = facts && facts->function == ScalarFunction::Add;
  int other = isSum && part.operands.size() == 2
                  ? part.operands[part.operands[0] == chain]
                  : -1;
  if (other < 0 || other >= static_cast<int>(site_->operands.size())) {
    return false;
  }
  const TensorInfo &operand = site_->operands[static_cast<size_t>(other)];
  bool isSameType = operand.type == made_.type;
  if (isSameType && bias_ < 0 && isBias(operand)) {
    bias_ = other;
    return true;
  }
  if (isSameType && residual_ < 0 && operand.format.empty() &&
      isSameBox(operand, made_)) {
    residual_ = other;
    return true;
  }
  return false;
}

/// What follows begins with what the product makes, as its last operand.
void ProductRegion::makeTail() {
  const Region &region = *site_->region;
  auto numOperands = static_cast<int>(site_->operands.size());
  std::vector<int> renumbered(
      static_cast<size_t>(numOperands) + region.parts.size(), -1);
  auto addOperand = [&](int value, const TensorInfo &info, int number) {
    renumbered[static_cast<size_t>(value)] =
        static_cast<int>(tailOperands_.size());
    tailOperands_.push_back(info);
    tailNumbers_.push_back(number);
  };
  for (int value = 0; value < numOperands; ++value) {
    bool isRead =
        std::any_of(region.parts.begin() + 1, region.parts.end(),
                    [&](const RegionPart &part) {
                      return std::ranges::count(part.operands, value) != 0;
                    });
    if (isRead) {
      addOperand(value, site_->operands[static_cast<size_t>(value)], value);
    }
  }
  addOperand(numOperands, made_, -1);
  auto next = static_cast<int>(tailOperands_.size());
  for (size_t p = 1; p < region.parts.size(); ++p) {
    renumbered[static_cast<size_t>(numOperands) + p] = next++;
  }
  auto renumber = [&](std::vector<int> values) {
    for (int &value : values) {
      value = renumbered[static_cast<size_t>(value)];
    }
    return values;
  };
  for (size_t p = 1; p < region.parts.size(); ++p) {
    RegionPart part = region.parts[p];
    part.operands = renumber(part.operands);
    tail_.parts.push_back(std::move(part));
  }
  tail_.results = renumber(region.results);
}

/// Finds which dimensions of the result are a matrix product's columns; false
/// if it is none that a library takes.
bool ProductRegion::findColumns() {
  auto strided = StridedProduct::of(product());
  columnDims_ = strided ? strided->columnDims : Dims();
  return strided.has_value();
}

/// Whether the library may do all that follows.
bool ProductRegion::takeAll() {
  const std::vector<RegionPart> &parts = site_->region->parts;
  auto numOperands = static_cast<int>(site_->operands.size());
  int chain = numOperands;
  size_t done = 1;
  while (done < parts.size() && !hasGelu_ && isOnlyUse(chain, done) &&
         take(parts[done], chain)) {
    chain = numOperands + static_cast<int>(done++);
  }
  return done == parts.size() && site_->region->results == std::vector{chain};
}

std::optional<ProductRegion> ProductRegion::of(const CallSite &site) {
  if (!site.region) {
    return isProduct(site.op) && site.results.size() == 1
               ? std::optional(ProductRegion(site, nullptr))
               : std::nullopt;
  }
  auto numOperands = static_cast<int>(site.operands.size());
  const std::vector<RegionPart> &parts = site.region->parts;
  bool hasOneResultEach = std::ranges::all_of(
      parts, [](const RegionPart &part) { return part.results.size() == 1; });
  if (parts.empty() || !isProduct(parts[0].op) || !hasOneResultEach ||
      site.results.empty() ||
      std::ranges::any_of(parts[0].operands,
                          [&](int o) { return o >= numOperands; })) {
    return std::nullopt;
  }
  ProductRegion made(site, &parts[0]);
  bool isMatmul = parts[0].op == productOp;
  if (isMatmul && !made.findColumns()) {
    return std::nullopt;
  }
  if (!isMatmul) { // it is ordered as what is made of it
    made.made_.format = site.results[0].format;
  }
  if (parts.size() == 1) {
    bool isAlone = site.region->results == std::vector{numOperands};
    return isAlone ? std::optional(std::move(made)) : std::nullopt;
  }
  made.makeTail();
  made.isFusible_ = isMatmul && made.takeAll();
  return made;
}
