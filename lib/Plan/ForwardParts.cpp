//===- ForwardParts.cpp - Parts of a forward pass -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardParts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace divisi::plan {
namespace {

/// The best parts that end with each value, none of which takes more than so
/// many bytes for what it makes again and beside that.
struct Cuts {
  std::vector<int64_t> kept;  ///< By the parts up to that one.
  std::vector<size_t> begins; ///< The first value of the last part.
};

} // namespace

/// Calls visit(last, kept, taken) for parts of `values` that begin with
/// `first`, from the shortest on, while it returns true.
static void
forEachPart(const std::vector<MadeValue> &values, size_t first,
            llvm::function_ref<bool(size_t, int64_t, int64_t)> visit) {
  // What is kept for now, by the place from which on nothing later uses it.
  std::vector<std::pair<int64_t, int64_t>> waiting;
  int64_t kept = 0, again = 0, beside = 0;
  for (size_t end = first; end != values.size(); ++end) {
    const MadeValue &value = values[end];
    kept += value.bytes;
    beside = std::max(beside, value.beside);
    if (value.mayRunAgain) {
      waiting.emplace_back(-value.last, value.bytes);
      std::push_heap(waiting.begin(), waiting.end());
    }
    while (!waiting.empty() && -waiting.front().first <= value.made) {
      kept -= waiting.front().second;
      again += waiting.front().second;
      std::pop_heap(waiting.begin(), waiting.end());
      waiting.pop_back();
    }
    if (!visit(end, kept, again + beside)) {
      return;
    }
  }
}

/// Longer parts are taken where they are as good.
static Cuts cutsWithin(const std::vector<MadeValue> &values, int64_t most) {
  Cuts cuts;
  cuts.kept.assign(values.size(), INT64_MAX);
  cuts.begins.assign(values.size(), 0);
  for (size_t first = 0; first != values.size(); ++first) {
    int64_t before = first == 0 ? 0 : cuts.kept[first - 1];
    if (before == INT64_MAX) {
      continue;
    }
    forEachPart(values, first, [&](size_t last, int64_t kept, int64_t taken) {
      if (taken > most) {
        return false;
      }
      if (before + kept < cuts.kept[last]) {
        cuts.kept[last] = before + kept;
        cuts.begins[last] = first;
      }
      return true;
    });
  }
  return cuts;
}

std::vector<unsigned> forwardParts(const std::vector<MadeValue> &values) {
  constexpr double kStep = 1.2; ///< From one bound to the next.
  std::vector<unsigned> parts(values.size());
  if (values.empty()) {
    return parts;
  }
  int64_t largest = 0, all = 0, beside = 0;
  for (const MadeValue &value : values) {
    largest = std::max(largest, value.bytes + value.beside);
    all += value.bytes;
    beside = std::max(beside, value.beside);
  }
  all += beside;
  Cuts best;
  int64_t least = INT64_MAX;
  for (double most = double(largest);; most *= kStep) {
    auto bound = int64_t(std::min(most, double(all)));
    Cuts cuts = cutsWithin(values, bound);
    int64_t held =
        cuts.kept.back() == INT64_MAX ? INT64_MAX : cuts.kept.back() + bound;
    if (held < least) {
      least = held;
      best = std::move(cuts);
    }
    if (bound == all || bound >= least) {
      break; // a larger one holds more
    }
  }
  for (size_t end = values.size(); end != 0; end = best.begins[end - 1]) {
    parts[best.begins[end - 1]] = 1;
  }
  parts[0] = 0;
  std::partial_sum(parts.begin(), parts.end(), parts.begin());
  return parts;
}

} // namespace divisi::plan
