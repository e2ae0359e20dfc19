//===- EdgeMatrices.cpp - What conversions cost ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EdgeMatrices.h"

#include "divisi/Cost/OpCost.h"
#include "divisi/Cost/StepCost.h"
#include "divisi/Support/Clock.h"

#include <atomic>
#include <thread>

namespace divisi::plan {

EdgeMatrices::EdgeMatrices(const Grid &grid, const GridLinks &links,
                           const LayoutPool &pool,
                           std::vector<search::Matrix> &matrices,
                           std::function<bool()> isStruck,
                           std::function<void()> tell)
    : grid_(grid), stepPrices_(stepPrices(grid, links)), pool_(pool),
      matrices_(matrices), isStruck_(std::move(isStruck)),
      tell_(std::move(tell)) {}

uint32_t EdgeMatrices::prices(unsigned tensorClass, const Port &from,
                              const Port &to) {
  auto [it, isNew] =
      known_.try_emplace({tensorClass, *from.layouts, *to.layouts, false},
                         uint32_t(matrices_.size()));
  if (isNew) {
    matrices_.push_back(
        {uint32_t(from.layouts->size()), uint32_t(to.layouts->size()), {}});
    requests_[tensorClass].push_back({it->second, &it->first});
  }
  return it->second;
}

void EdgeMatrices::fillClass(unsigned tensorClass, Router &router,
                             llvm::function_ref<bool()> goesOn) {
  const TensorClass &tensor = pool_.get(tensorClass);
  size_t count = tensor.layouts.size();
  constexpr int64_t kUnknown = -1;
  std::vector<int64_t> known(count * count, kUnknown);
  auto price = [&](unsigned from, unsigned to) {
    int64_t &cost = known[from * count + to];
    // A matrix may ask for thousands of routes.
    if (cost == kUnknown && goesOn()) {
      std::optional<int64_t> nanoseconds =
          from == to ? 0
                     : router.price(tensor.shape, tensor.bits,
                                    tensor.layouts[from], tensor.layouts[to]);
      cost = nanoseconds ? costOf(*nanoseconds) : search::kInfeasible;
    }
    return cost;
  };
  for (const Request &request : requests_.at(tensorClass)) {
    const auto &[ignored, from, to, isUsage] = *request.ports;
    std::vector<int64_t> &entries = matrices_[request.matrix].entries;
    entries.reserve(from.size() * to.size());
    for (unsigned row : from) {
      for (unsigned column : to) {
        entries.push_back(price(row, column));
      }
    }
  }
}

/// The larger classes first, so that the threads end together. Each thread has a
/// router of its own.
void EdgeMatrices::fill() {
  std::vector<std::pair<int64_t, unsigned>> order;
  for (const auto &[tensorClass, requests] : requests_) {
    int64_t count = int64_t(pool_.get(tensorClass).layouts.size());
    order.push_back({-count, tensorClass});
  }
  llvm::sort(order);
  std::atomic<size_t> next = 0;
  std::atomic<bool> isCut = false;
  auto work = [&](llvm::function_ref<void()> tell) {
    auto goesOn = [&] {
      isCut = isCut || isStruck_();
      tell();
      return !isCut;
    };
    Router router(grid_, stepPrices_);
    for (size_t i = next++; i < order.size() && goesOn(); i = next++) {
      fillClass(order[i].second, router, goesOn);
    }
  };
  std::thread helper([&] { work([] {}); });
  // Seldom, so that what is told does not depend on how threads share the work
  // unless it takes long.
  constexpr double kSecondsBetween = 0.2;
  double last = steadySeconds();
  work([&] {
    if (double now = steadySeconds(); now - last >= kSecondsBetween) {
      last = now;
      tell_();
    }
  });
  helper.join();
}

/// A global that is used otherwise than it rests lies there twice meanwhile.
uint32_t EdgeMatrices::usages(unsigned tensorClass, const Port &from,
                              const Port &to) {
  auto [it, isNew] =
      known_.try_emplace({tensorClass, *from.layouts, *to.layouts, true},
                         uint32_t(matrices_.size()));
  if (isNew) {
    const TensorClass &tensor = pool_.get(tensorClass);
    search::Matrix &matrix = matrices_.emplace_back();
    matrix.rows = uint32_t(from.layouts->size());
    matrix.columns = uint32_t(to.layouts->size());
    std::vector<int64_t> bytes;
    for (unsigned column : *to.layouts) {
      bytes.push_back(
          localBytes(grid_, tensor.layouts[column], tensor.shape, tensor.bits));
    }
    for (unsigned row : *from.layouts) {
      for (auto [column, copy] : llvm::zip_equal(*to.layouts, bytes)) {
        matrix.entries.push_back(row == column ? 0 : copy);
      }
    }
  }
  return it->second;
}

} // namespace divisi::plan
