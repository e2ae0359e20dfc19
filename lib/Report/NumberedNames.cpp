//===- NumberedNames.cpp - Names that differ in numbers -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberedNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>
#include <vector>

using namespace llvm;

namespace divisi {

/// The numbers of a name, as they are written: 07 is not 7.
using Numbers = std::vector<std::string>;

/// Splits `name` into its numbers and the texts around them.
static Numbers split(StringRef name, std::vector<std::string> &texts) {
  Numbers numbers;
  while (true) {
    texts.push_back(name.take_until(isDigit).str());
    name = name.drop_front(texts.back().size());
    if (name.empty()) {
      return numbers;
    }
    numbers.push_back(name.take_while(isDigit).str());
    name = name.drop_front(numbers.back().size());
  }
}

std::string withoutNumbers(StringRef name) {
  std::vector<std::string> texts;
  split(name, texts);
  return join(texts, "#");
}

/// Short numbers first, so that 10 follows 9.
static bool isBefore(const std::string &a, const std::string &b) {
  return std::pair(a.size(), a) < std::pair(b.size(), b);
}

static bool follows(const std::string &a, const std::string &b) {
  uint64_t first = 0, second = 0;
  return !StringRef(a).getAsInteger(10, first) &&
         !StringRef(b).getAsInteger(10, second) && second == first + 1;
}

/// The parts of a list, or of a long one the first and the last.
static std::string listOf(ArrayRef<std::string> parts, StringRef separator) {
  constexpr size_t kMost = 8, kFirst = 4;
  return parts.size() <= kMost
             ? join(parts, separator)
             : join(parts.take_front(kFirst), separator) + separator.str() +
                   "..." + separator.str() + parts.back();
}

/// `0-3,5`.
static std::string ranges(std::vector<std::string> numbers) {
  llvm::sort(numbers, isBefore);
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin;
    while (end + 1 < numbers.size() &&
           follows(numbers[end], numbers[end + 1])) {
      ++end;
    }
    if (end == begin + 1) {
      end = begin; // Two are no range.
    }
    parts.push_back(numbers[begin] +
                    (end > begin ? "-" + numbers[end] : std::string()));
    begin = end + 1;
  }
  return listOf(parts, ",");
}

static std::string weave(ArrayRef<std::string> texts,
                         ArrayRef<std::string> numbers) {
  std::string name = texts.front();
  for (auto [number, text] : zip_equal(numbers, texts.drop_front())) {
    name += number + text;
  }
  return name;
}

std::string nameAll(ArrayRef<std::string> names) {
  std::vector<std::string> texts;
  std::set<Numbers> all;
  for (const std::string &name : names) {
    texts.clear();
    all.insert(split(name, texts));
  }
  size_t width = texts.size() - 1;
  std::vector<std::set<std::string>> values(width);
  size_t product = 1;
  for (size_t i = 0; i < width; ++i) {
    for (const Numbers &numbers : all) {
      values[i].insert(numbers[i]);
    }
    product *= values[i].size();
  }
  if (product == all.size()) {
    std::vector<std::string> numbers;
    for (const std::set<std::string> &set : values) {
      numbers.push_back(ranges({set.begin(), set.end()}));
    }
    return weave(texts, numbers);
  }
  // By the first number that differs: the rest may be a product then.
  size_t first = 0;
  while (values[first].size() == 1) {
    ++first;
  }
  std::map<std::string, std::vector<std::string>, decltype(&isBefore)> parts(
      isBefore);
  for (const Numbers &numbers : all) {
    parts[numbers[first]].push_back(weave(texts, numbers));
  }
  std::vector<std::string> labels;
  for (const auto &[number, part] : parts) {
    labels.push_back(nameAll(part));
  }
  return listOf(labels, ", ");
}

} // namespace divisi
