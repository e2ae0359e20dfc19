//===- WhyMatch.cpp - What a name of the table stands for -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhyMatch.h"

#include "LayerGroups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <functional>
#include <map>
#include <set>

using namespace llvm;
using namespace divisi;

/// So many names are listed for one that is none or too many.
static constexpr size_t kMostCandidates = 8;

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Whether `number` is in `0-3,7`.
static bool isIn(StringRef ranges, StringRef number) {
  uint64_t value = 0;
  SmallVector<StringRef> parts;
  ranges.split(parts, ',');
  return any_of(parts, [&](StringRef part) {
    auto [first, last] = part.split('-');
    uint64_t from = 0, to = 0;
    return part == number ||
           (!last.empty() && !number.getAsInteger(10, value) &&
            !first.getAsInteger(10, from) && !last.getAsInteger(10, to) &&
            from <= value && value <= to);
  });
}

static StringRef takeRanges(StringRef text) {
  size_t end = 0;
  while (end < text.size() &&
         (isDigit(text[end]) ||
          ((text[end] == '-' || text[end] == ',') && end > 0 &&
           end + 1 < text.size() && isDigit(text[end + 1])))) {
    ++end;
  }
  return text.take_front(end);
}

static bool matchesOne(StringRef pattern, StringRef name) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern = pattern.ltrim('*');
      for (size_t skip = 0; skip <= name.size(); ++skip) {
        if (matchesOne(pattern, name.drop_front(skip))) {
          return true;
        }
      }
      return false;
    }
    if (name.empty()) {
      return false;
    }
    StringRef ranges = takeRanges(pattern);
    if (!ranges.empty() && isDigit(name.front())) {
      StringRef number = name.take_while(isDigit);
      if (!isIn(ranges, number)) {
        return false;
      }
      pattern = pattern.drop_front(ranges.size());
      name = name.drop_front(number.size());
      continue;
    }
    if (pattern.front() != name.front()) {
      return false;
    }
    pattern = pattern.drop_front();
    name = name.drop_front();
  }
  return name.empty();
}

bool divisi::matchesNumbered(StringRef pattern, StringRef name) {
  SmallVector<StringRef> parts;
  pattern.split(parts, ", ");
  return pattern == name ||
         any_of(parts, [&](StringRef part) { return matchesOne(part, name); });
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// All names of a report, and what they are names of.
class Names {
public:
  explicit Names(const Report &report);

  /// What has a name that `wanted` accepts; `found` gets these names.
  WhyMatch select(function_ref<bool(StringRef)> wanted,
                  std::set<std::string> &found) const;
  /// Those nearest to `name`.
  std::vector<std::string> nearest(StringRef name) const;

private:
  void add(StringRef name, size_t row) {
    if (!name.empty()) {
      rows_[name.str()].push_back(row);
    }
  }

  const Report &report_;
  std::map<std::string, std::vector<size_t>> rows_;
  std::map<std::string, std::vector<const ReportTensor *>> tensors_;
};

} // namespace

Names::Names(const Report &report) : report_(report) {
  for (const EntryGroups &entry : groupLayers(report.rows)) {
    for (const LayerGroup &group : entry.groups) {
      for (auto [heading, block] : zip(group.headings, group.blocks)) {
        for (const ReportRow &row : block) {
          size_t index = size_t(&row - report.rows.data());
          add(row.op, index);
          add(StringRef(row.op).split('.').second, index);
          add(row.node, index);
          add(nameBeneath(row, heading), index);
          add(row.layer, index);
          add(heading, index);
          add(group.label, index);
        }
      }
    }
  }
  for (const std::vector<ReportTensor> *list :
       {&report.globals, &report.tensors}) {
    for (const ReportTensor &tensor : *list) {
      tensors_[tensor.name].push_back(&tensor);
    }
  }
}

WhyMatch Names::select(function_ref<bool(StringRef)> wanted,
                       std::set<std::string> &found) const {
  WhyMatch match;
  match.rows.resize(report_.rows.size());
  for (const auto &[name, rows] : rows_) {
    if (wanted(name)) {
      found.insert(name);
      for (size_t row : rows) {
        match.rows[row] = true;
      }
    }
  }
  for (const auto &[name, tensors] : tensors_) {
    if (wanted(name) || wanted("@" + name)) {
      found.insert(name);
      append_range(match.tensors, tensors);
    }
  }
  return match;
}

std::vector<std::string> Names::nearest(StringRef name) const {
  std::set<std::pair<unsigned, std::string>> sorted;
  auto add = [&](const std::string &other) {
    // In per mille of the longer one: short names are not near to all.
    size_t length = std::max({other.size(), name.size(), size_t(1)});
    unsigned distance = StringRef(other).edit_distance_insensitive(name);
    sorted.insert({unsigned(1000 * distance / length), other});
  };
  for (const auto &[other, rows] : rows_) {
    add(other);
  }
  for (const auto &[other, tensors] : tensors_) {
    add(other);
  }
  std::vector<std::string> names;
  for (const auto &[distance, other] : sorted) {
    if (names.size() < kMostCandidates) {
      names.push_back(other);
    }
  }
  return names;
}

static std::string listOf(const std::set<std::string> &names) {
  std::string text;
  size_t count = 0;
  for (const std::string &name : names) {
    if (count++ == kMostCandidates) {
      return text + " and " + std::to_string(names.size() - kMostCandidates) +
             " more";
    }
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// The exact name first, so that `nn.matmul` is never a part of another.
divisi::Expected<WhyMatch> divisi::matchName(const Report &report,
                                             StringRef name) {
  Names names(report);
  std::set<std::string> found;
  auto match = [&](function_ref<bool(StringRef)> wanted) {
    found.clear();
    return names.select(wanted, found);
  };
  WhyMatch exact = match([&](StringRef other) { return other == name; });
  if (!found.empty()) {
    return exact;
  }
  WhyMatch numbered =
      match([&](StringRef other) { return matchesNumbered(name, other); });
  if (!found.empty()) {
    return numbered;
  }
  WhyMatch part =
      match([&](StringRef other) { return other.contains_insensitive(name); });
  if (found.size() == 1) {
    return part;
  }
  std::string quoted = "'" + name.str() + "'";
  if (found.empty()) {
    std::vector<std::string> near = names.nearest(name);
    return Status(ExitCode::Usage,
                  "nothing in the table is called " + quoted +
                      ": no heading, operator, node or tensor; nearest are " +
                      llvm::join(near, ", "));
  }
  return Status(ExitCode::Usage, quoted + " may be " +
                                     std::to_string(found.size()) +
                                     " things: " + listOf(found) +
                                     "; give one of these, or a pattern with "
                                     "*");
}
