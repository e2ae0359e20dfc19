//===- Unsupported.cpp - All that a model needs and Divisi lacks ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unsupported.h"

#include <algorithm>

using namespace divisi;

/// `text` without what stands between its quotation marks.
static std::string withoutNames(const std::string &text) {
  std::string result;
  bool isQuoted = false;
  for (char c : text) {
    isQuoted ^= c == '\'';
    if (!isQuoted) {
      result += c;
    }
  }
  return result;
}

void UnsupportedList::add(UnsupportedPlace place) {
  std::string key = place.kind + ": " + withoutNames(place.reason);
  auto group =
      std::find_if(groups_.begin(), groups_.end(),
                   [&](const Group &group) { return group.key == key; });
  if (group == groups_.end()) {
    group = groups_.insert(group, {std::move(place), std::move(key)});
  }
  ++group->count;
}

Status UnsupportedList::status() const {
  if (groups_.size() == 1 && groups_.front().count == 1) {
    return Status(ExitCode::Unsupported, groups_.front().first.sentence);
  }
  std::string text = "the model needs features that Divisi does not support:";
  for (const Group &group : groups_) {
    text += "\n  " + group.first.kind + " x " + std::to_string(group.count) +
            (group.count > 1 ? ", first '" : ", '") + group.first.name +
            "': " + group.first.reason;
  }
  return Status(ExitCode::Unsupported, text);
}
