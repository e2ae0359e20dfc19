//===- NodeImporter.cpp - What an importer of one node sees ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>

using namespace divisi;

template <typename T>
static const T *findValue(const OnnxNode &node, const std::string &name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr
                                     : std::get_if<T>(&it->second.value);
}

bool NodeImporter::hasAttribute(const std::string &name) const {
  return node_.attributes.count(name);
}

int64_t NodeImporter::getInt(const std::string &name, int64_t fallback) const {
  const auto *value = findValue<int64_t>(node_, name);
  return value ? *value : fallback;
}

double NodeImporter::getFloat(const std::string &name, double fallback) const {
  const auto *value = findValue<float>(node_, name);
  return value ? static_cast<double>(*value) : fallback;
}

std::string NodeImporter::getString(const std::string &name,
                                    const std::string &fallback) const {
  const auto *value = findValue<std::string>(node_, name);
  return value ? *value : fallback;
}

std::vector<int64_t> NodeImporter::getInts(const std::string &name) const {
  const auto *value = findValue<std::vector<int64_t>>(node_, name);
  return value ? *value : std::vector<int64_t>();
}

std::vector<double> NodeImporter::getFloats(const std::string &name) const {
  const auto *value = findValue<std::vector<float>>(node_, name);
  return value ? std::vector<double>(value->begin(), value->end())
               : std::vector<double>();
}

bool NodeImporter::requireInputs(std::initializer_list<size_t> wanted) {
  for (size_t i : wanted) {
    if (!hasInput(i)) {
      invalid("it has no input " + std::to_string(i));
      return false;
    }
  }
  return true;
}

bool NodeImporter::checkDims(size_t i, const rt::Dims &expected) {
  if (hasInput(i) && input(i)->dims != expected) {
    invalid("input " + std::to_string(i) + " has the shape " +
            formatInts(input(i)->dims) + ", expected " + formatInts(expected));
  }
  return !failed();
}

std::optional<rt::HostTensor> NodeImporter::constantTensor(size_t index) {
  auto bytes = emitter_.bytesOf(input(index));
  if (!bytes) {
    unsupported("input " + std::to_string(index) + " ('" + node_.inputs[index] +
                "') is computed at run time, and the shape of the result "
                "depends on it; shapes are static: make it a constant, by "
                "--constant if it is an input of the model");
  }
  return bytes;
}

std::optional<std::vector<int64_t>> NodeImporter::constantInts(size_t index) {
  auto bytes = hasInput(index) ? constantTensor(index) : std::nullopt;
  return bytes ? std::optional(bytes->toInts()) : std::nullopt;
}

std::optional<std::vector<int64_t>>
NodeImporter::intsFrom(const std::string &name, size_t index) {
  if (hasAttribute(name)) {
    return getInts(name);
  }
  return constantInts(index);
}

std::optional<double> NodeImporter::constantNumber(size_t index) {
  if (!hasInput(index)) {
    return std::nullopt;
  }
  auto bytes = emitter_.bytesOf(input(index));
  if (!bytes || bytes->count() != 1) {
    unsupported("input " + std::to_string(index) + " ('" + node_.inputs[index] +
                "') is not one constant number");
    return std::nullopt;
  }
  return bytes->floatAt(0);
}

int64_t NodeImporter::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    invalid("got axis " + std::to_string(axis) + " for a tensor of rank " +
            std::to_string(rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t>
NodeImporter::normalizeAxes(const std::vector<int64_t> &axes, int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(normalizeAxis(axis, rank));
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    invalid("an axis is given twice");
    result.erase(std::unique(result.begin(), result.end()), result.end());
  }
  return result;
}
