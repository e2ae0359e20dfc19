//===- Checks.cpp - Is a call what a kernel can do? -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Checks.h"

namespace divisi::rt {

std::string stringify(const Dims &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(dims[i]);
  }
  return text + "]";
}

static std::string quantity(int64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool Checks::fail(const std::string &message) const {
  error_ = std::string(site_.op) + ": " + message;
  return false;
}

/// What is wrong with a box, or null.
static const char *findBoxFault(const TensorInfo &info) {
  size_t rank = info.extents.size();
  if (rank > maxRank) {
    return "its rank is above 16";
  }
  if (info.offset.size() != rank || info.global.size() != rank) {
    return "extents, offset and global shape differ in rank";
  }
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) {
    int64_t extent = info.extents[d], begin = info.offset[d];
    if (extent < 0 || begin < 0 || info.global[d] > maxExtent ||
        begin > info.global[d] || extent > info.global[d] - begin) {
      return "its box is not within the tensor";
    }
    if (__builtin_mul_overflow(count, info.global[d], &count) ||
        count > INT64_MAX / 8) {
      return "it has too many elements";
    }
  }
  return nullptr;
}

bool Checks::counts(size_t operands, size_t results) const {
  if (site_.operands.size() != operands) {
    return fail("got " + quantity(site_.operands.size(), "operand") +
                ", expected " + std::to_string(operands));
  }
  if (site_.results.size() != results) {
    return fail("got " + quantity(site_.results.size(), "result") +
                ", expected " + std::to_string(results));
  }
  for (size_t i = 0; i < operands; ++i) {
    if (const char *fault = findBoxFault(site_.operands[i])) {
      return fail("operand " + std::to_string(i) + ": " + fault);
    }
  }
  for (size_t i = 0; i < results; ++i) {
    if (const char *fault = findBoxFault(site_.results[i])) {
      return fail("result " + std::to_string(i) + ": " + fault);
    }
  }
  return true;
}

static std::string typeMessage(const char *what, size_t index, DType got,
                               DType expected) {
  return what + std::to_string(index) + " is " + std::string(stringify(got)) +
         ", expected " + std::string(stringify(expected));
}

bool Checks::operandType(size_t index, DType type) const {
  DType got = site_.operands[index].type;
  return got == type || fail(typeMessage("operand ", index, got, type));
}

bool Checks::resultType(size_t index, DType type) const {
  DType got = site_.results[index].type;
  return got == type || fail(typeMessage("result ", index, got, type));
}

bool Checks::sumType(size_t index) const {
  DType type = site_.operands[0].type;
  return site_.results[index].type == rt::sumType(type) ||
         resultType(index, type);
}

bool Checks::operandRank(size_t index, size_t rank) const {
  size_t got = site_.operands[index].rank();
  return got == rank ||
         fail("operand " + std::to_string(index) + " has rank " +
              std::to_string(got) + ", expected " + std::to_string(rank));
}

bool Checks::resultRank(size_t index, size_t rank) const {
  size_t got = site_.results[index].rank();
  return got == rank ||
         fail("result " + std::to_string(index) + " has rank " +
              std::to_string(got) + ", expected " + std::to_string(rank));
}

bool Checks::resultExtent(size_t dim, int64_t expected) const {
  int64_t got = site_.results[0].global[dim];
  return got == expected ||
         fail("result dimension " + std::to_string(dim) + " has extent " +
              std::to_string(got) + ", expected " + std::to_string(expected));
}

bool Checks::covers(size_t operand, size_t dim, int64_t begin,
                    int64_t end) const {
  const TensorInfo &info = site_.operands[operand];
  int64_t low = info.offset[dim], high = low + info.extents[dim];
  if (begin >= end || (low <= begin && end <= high)) {
    return true;
  }
  return fail("operand " + std::to_string(operand) + " holds indices " +
              std::to_string(low) + " to " + std::to_string(high) +
              " of dimension " + std::to_string(dim) +
              ", but the result needs " + std::to_string(begin) + " to " +
              std::to_string(end));
}

bool Checks::whole(size_t operand, size_t dim) const {
  return covers(operand, dim, 0, site_.operands[operand].global[dim]);
}

bool Checks::getInt(const char *name, int64_t low, int64_t high,
                    int64_t &value) const {
  const auto *found = site_.attributes.find<int64_t>(name);
  if (!found) {
    return fail("needs the integer attribute '" + std::string(name) + "'");
  }
  if (*found < low || *found > high) {
    return fail("attribute '" + std::string(name) + "' is " +
                std::to_string(*found) + ", expected " + std::to_string(low) +
                " to " + std::to_string(high));
  }
  value = *found;
  return true;
}

bool Checks::getInts(const char *name, size_t length, int64_t low, int64_t high,
                     Dims &values) const {
  const auto *found = site_.attributes.find<std::vector<int64_t>>(name);
  if (!found) {
    return fail("needs the attribute '" + std::string(name) +
                "', a list of integers");
  }
  if (found->size() != length) {
    return fail("attribute '" + std::string(name) + "' has length " +
                std::to_string(found->size()) + ", expected " +
                std::to_string(length));
  }
  for (int64_t value : *found) {
    if (value < low || value > high) {
      return fail("attribute '" + std::string(name) + "' holds " +
                  std::to_string(value) + ", expected " + std::to_string(low) +
                  " to " + std::to_string(high));
    }
  }
  values = *found;
  return true;
}

bool Checks::getDims(const char *name, size_t rank, Dims &values) const {
  const auto *found = site_.attributes.find<std::vector<int64_t>>(name);
  size_t length = found ? found->size() : 0;
  if (!getInts(name, length, 0, int64_t(rank) - 1, values)) {
    return false;
  }
  for (size_t i = 1; i < length; ++i) {
    if (values[i] <= values[i - 1]) {
      return fail("attribute '" + std::string(name) + "' is " +
                  stringify(values) + ", expected ascending dimensions");
    }
  }
  return true;
}

bool Checks::getFloat(const char *name, double &value) const {
  const auto *found = site_.attributes.find<double>(name);
  if (!found) {
    return fail("needs the float attribute '" + std::string(name) + "'");
  }
  value = *found;
  return true;
}

bool Checks::getChoice(const char *name,
                       std::span<const std::string_view> choices,
                       size_t &index) const {
  std::string got = site_.attributes.getString(name);
  std::string expected;
  for (index = 0; index < choices.size(); ++index) {
    if (choices[index] == got) {
      return true;
    }
    expected += (index ? ", " : "") + std::string(choices[index]);
  }
  return fail("attribute '" + std::string(name) + "' is '" + got +
              "', expected one of " + expected);
}

} // namespace divisi::rt
