//===- ResolveOperator.cpp - What calls compute, all numbers resolved -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/FormatLimits.h"
#include "runtime/artifact/ResolveProgram.h"

#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

const Placement &ResolvedOperator::placement(uint32_t value) const {
  size_t number = value - message->num_operands();
  auto part = parts.begin();
  for (; number >= part->size(); ++part) {
    number -= part->size();
  }
  return *(*part)[number];
}

static Status readAttributes(const pb::Operator &message,
                             Attributes &attributes) {
  auto listOf = [](const auto &values) {
    return std::vector(values.begin(), values.end());
  };
  for (const pb::Attribute &attribute : message.attributes()) {
    const std::string &name = attribute.name();
    switch (attribute.value_case()) {
    case pb::Attribute::kI:
      attributes.set(name, int64_t(attribute.i()));
      break;
    case pb::Attribute::kF:
      attributes.set(name, attribute.f());
      break;
    case pb::Attribute::kS:
      attributes.set(name, attribute.s());
      break;
    case pb::Attribute::kInts:
      attributes.set(name, listOf(attribute.ints().values()));
      break;
    case pb::Attribute::kFloats:
      attributes.set(name, listOf(attribute.floats().values()));
      break;
    default:
      return invalid("attribute '", name, "' has no value");
    }
  }
  return {};
}

/// Reads one part, before which there are `numValues` values.
static Status readPart(const pb::Part &message, ResolvedManifest &resolved,
                       uint32_t numValues,
                       std::vector<const Placement *> &results) {
  size_t earlier = resolved.operators.size() - 1;
  if (message.op() >= earlier ||
      !resolved.operators[message.op()].parts.empty()) {
    return invalid("operator ", message.op(),
                   ", expected one before it that has no parts itself");
  }
  for (uint32_t operand : message.operands()) {
    if (operand >= numValues) {
      return invalid("value ", operand, " of ", numValues, " before it");
    }
  }
  if (message.results().empty()) {
    return invalid("it has no result");
  }
  for (uint32_t tensor : message.results()) {
    Expected<const Placement *> placement = resolved.place(tensor);
    if (!placement) {
      return placement.status();
    }
    results.push_back(*placement);
  }
  return {};
}

static Status readParts(const pb::Operator &message,
                        ResolvedManifest &resolved) {
  uint32_t values = message.num_operands();
  for (int p = 0; p < message.parts_size(); ++p) {
    std::vector<const Placement *> results;
    Status status = readPart(message.parts(p), resolved, values, results);
    if (!status.isOk()) {
      return status.in("part " + std::to_string(p));
    }
    values += static_cast<uint32_t>(results.size());
    resolved.operators.back().parts.push_back(std::move(results));
  }
  std::set<uint32_t> seen;
  for (uint32_t result : message.results()) {
    if (result < message.num_operands() || result >= values ||
        !seen.insert(result).second) {
      return invalid("its result is value ", result, ", expected one of ",
                     message.num_operands(), " to ", values,
                     " that is no other result");
    }
  }
  return {};
}

Status divisi::rt::resolveOperator(const pb::Operator &message,
                                   ResolvedManifest &resolved) {
  ResolvedOperator &added = resolved.operators.emplace_back();
  added.message = &message;
  bool isFused = message.op() == fusedOp;
  bool isSmall = message.parts_size() <= mostFusedParts &&
                 message.num_operands() <= mostFusedParts;
  if (isFused != (message.parts_size() != 0) || !isSmall) {
    return invalid("got ", message.parts_size(), " parts of ",
                   message.num_operands(), " operands, expected ",
                   isFused ? "1 to 1024 of at most 1024" : "none");
  }
  Status status = readAttributes(message, added.attributes);
  return status.isOk() ? readParts(message, resolved) : status;
}
