//===- TensorLabels.cpp - Which tensor is which input ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/TensorLabels.h"

#include <algorithm>
#include <map>
#include <set>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Hands out slots, and remembers what went wrong.
class LabelMatcher {
public:
  LabelMatcher(std::span<const TensorLabel> labels,
               std::span<const TensorSlot> slots)
      : labels_(labels), slots_(slots), slotOf_(labels.size()),
        isTaken_(slots.size()) {
    for (size_t i = 0; i < slots.size(); ++i) {
      index_[slots[i].name] = i;
    }
  }

  void run();
  /// Empty if every tensor has a slot, and with `needsAll` every slot one.
  std::string problems(bool needsAll) const;
  const std::vector<size_t> &slots() const { return slotOf_; }

private:
  bool numbersHaveNames() const;

  std::span<const TensorLabel> labels_;
  std::span<const TensorSlot> slots_;
  std::map<std::string, size_t> index_;
  std::vector<size_t> slotOf_;
  std::vector<bool> isTaken_;
  /// In the order of the labels, each once.
  std::vector<std::string> unknown_, repeated_;
  size_t leftOver_ = 0;
};

} // namespace

/// Whether the names of all numbered tensors are those of slots.
bool LabelMatcher::numbersHaveNames() const {
  std::set<std::string> names;
  return std::all_of(labels_.begin(), labels_.end(), [&](const auto &label) {
    return !label.isNumbered ||
           (index_.count(label.name) && names.insert(label.name).second);
  });
}

static void addOnce(std::vector<std::string> &names, const std::string &name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

void LabelMatcher::run() {
  bool byName = numbersHaveNames();
  std::vector<size_t> placed; // Those that have a place alone.
  for (size_t i = 0; i < labels_.size(); ++i) {
    const TensorLabel &label = labels_[i];
    auto slot = index_.find(label.name);
    if (label.name.empty() || (label.isNumbered && !byName)) {
      placed.push_back(i);
    } else if (slot == index_.end()) {
      addOnce(unknown_, label.name);
    } else if (isTaken_[slot->second]) {
      addOnce(repeated_, label.name);
    } else {
      isTaken_[slot->second] = true;
      slotOf_[i] = slot->second;
    }
  }
  auto next = isTaken_.begin();
  for (size_t i : placed) {
    next = std::find(next, isTaken_.end(), false);
    if (next == isTaken_.end()) {
      ++leftOver_;
    } else {
      slotOf_[i] = next - isTaken_.begin();
      *next = true;
    }
  }
}

static std::string quoteAll(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "'" : ", '") + name + "'";
  }
  return text;
}

std::string LabelMatcher::problems(bool needsAll) const {
  std::vector<std::string> missing;
  for (size_t i = 0; needsAll && i < slots_.size(); ++i) {
    if (!isTaken_[i]) {
      missing.push_back(slots_[i].name);
    }
  }
  std::string text;
  auto add = [&](const std::string &problem) {
    text += (text.empty() ? "" : "; ") + problem;
  };
  if (!unknown_.empty()) {
    add("none is called " + quoteAll(unknown_));
  }
  if (!repeated_.empty()) {
    add("more than one tensor is given for " + quoteAll(repeated_));
  }
  if (leftOver_ > 0) {
    add(std::to_string(leftOver_) +
        " of the tensors without a name are too many");
  }
  if (!missing.empty()) {
    add("no tensor is given for " + quoteAll(missing));
  }
  return text;
}

Expected<std::vector<size_t>> divisi::rt::matchLabels(
    std::span<const TensorLabel> labels, std::span<const TensorSlot> slots,
    const std::string &whose, ExitCode code, bool needsAll) {
  LabelMatcher matcher(labels, slots);
  matcher.run();
  std::string problems = matcher.problems(needsAll);
  if (problems.empty()) {
    return matcher.slots();
  }
  std::string expected;
  for (const TensorSlot &slot : slots) {
    expected +=
        (expected.empty() ? "'" : ", '") + slot.name + "' " + slot.shape;
  }
  return makeError(code, "the tensors do not fit the ", whose, ": ", problems,
                   "; expected ", expected.empty() ? "none" : expected);
}
