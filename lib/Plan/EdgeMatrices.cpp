//===- EdgeMatrices.cpp - What conversions cost ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EdgeMatrices.h"

#include "AlikeLayouts.h"

#include "divisi/Cost/OpCost.h"
#include "divisi/Cost/StepCost.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/Thread.h"

#include <atomic>

namespace divisi::plan {

EdgeMatrices::EdgeMatrices(const Grid &grid, const GridLinks &links,
                           KeptRouters *routers, KindMemories memories,
                           const LayoutPool &pool,
                           std::vector<search::Matrix> &matrices,
                           std::function<bool()> isStruck,
                           std::function<void()> tell)
    : grid_(grid), links_(std::make_shared<GridLinks>(links)),
      stepPrices_(stepPrices(grid, links)), routers_(routers),
      memories_(std::move(memories)), pool_(pool), matrices_(matrices),
      isStruck_(std::move(isStruck)), tell_(std::move(tell)) {}

uint32_t EdgeMatrices::request(PortKey key) {
  auto [it, isNew] =
      known_.try_emplace(std::move(key), uint32_t(matrices_.size()));
  if (isNew) {
    const auto &[tensorClass, from, to, bytes, kind, repeats] = it->first;
    matrices_.push_back({uint32_t(from.size()), uint32_t(to.size()), {}});
    requests_[tensorClass].push_back({it->second, &it->first});
  }
  return it->second;
}

namespace {
/// What routes between the layouts of a class cost, each asked for once.
class ClassPrices {
public:
  ClassPrices(const TensorClass &tensor, std::vector<Layout> layouts,
              Router &router, const AlikeLayouts &alike)
      : tensor_(tensor), layouts_(std::move(layouts)), router_(router),
        alike_(alike),
        prices_(tensor.layouts.size() * tensor.layouts.size(), kUnknown) {}

  int64_t price(unsigned from, unsigned to, int64_t repeats);

private:
  static constexpr int64_t kUnknown = -1, kNoWay = -2;
  const TensorClass &tensor_;
  std::vector<Layout> layouts_; ///< As the router calls them.
  Router &router_;
  const AlikeLayouts &alike_;
  std::vector<int64_t> prices_; ///< In nanoseconds.
};

/// What memory they take on devices of a kind.
class ClassBytes {
public:
  ClassBytes(const Grid &grid, const KindMemory &memory,
             const TensorClass &tensor, Router &router,
             const AlikeLayouts &alike)
      : grid_(grid), memory_(memory), tensor_(tensor), router_(router),
        alike_(alike), peaks_(tensor.layouts.size() * tensor.layouts.size(),
                              Peaks{kUnknown, kUnknown, kUnknown}) {
    for (const Layout &layout : tensor.layouts) {
      bytes_.push_back(bytesOf(layout));
    }
  }

  int64_t bytes(EdgeMatrices::Bytes which, unsigned from, unsigned to);

private:
  int64_t bytesOf(const Layout &layout) const {
    return memory_.localBytes(grid_, layout, tensor_.shape, tensor_.bits);
  }
  /// Of the tensors on a route: the most of what its first step makes and of
  /// what stands side by side afterwards.
  struct Peaks {
    int64_t first = 0, later = 0;
    int64_t landing = 0; ///< The most of all before the last step.
  };
  const Peaks &peaks(unsigned from, unsigned to);

  static constexpr int64_t kUnknown = -1;
  const Grid &grid_;
  const KindMemory &memory_;
  const TensorClass &tensor_;
  Router &router_;
  const AlikeLayouts &alike_;
  std::vector<int64_t> bytes_;
  std::vector<Peaks> peaks_;
};
} // namespace

int64_t ClassPrices::price(unsigned from, unsigned to, int64_t repeats) {
  const int64_t &known = prices_[from * tensor_.layouts.size() + to];
  if (known == kUnknown) {
    std::optional<int64_t> nanoseconds =
        from == to ? 0
                   : router_.price(tensor_.shape, tensor_.bits, layouts_[from],
                                   layouts_[to]);
    alike_.fill(prices_, from, to, nanoseconds.value_or(kNoWay));
  }
  return known == kNoWay ? search::kInfeasible : costOf(known, repeats);
}

const ClassBytes::Peaks &ClassBytes::peaks(unsigned from, unsigned to) {
  const Peaks &known = peaks_[from * bytes_.size() + to];
  if (known.first == kUnknown) {
    Peaks found = {bytes_[to], 0, 0};
    std::optional<Route> route =
        router_.route(tensor_.shape, tensor_.bits, tensor_.layouts[from],
                      tensor_.layouts[to]);
    int64_t before = 0;
    auto steps = route ? route->steps : llvm::SmallVector<Step, 2>();
    for (const Step &step : steps) {
      int64_t made = bytesOf(step.result);
      if (&step != &steps.back()) {
        found.landing = std::max(found.landing, before + made);
      }
      if (before == 0) {
        found.first = made;
      } else {
        found.later = std::max(found.later, before + made);
      }
      before = made;
    }
    alike_.fill(peaks_, from, to, found);
  }
  return known;
}

int64_t ClassBytes::bytes(EdgeMatrices::Bytes which, unsigned from,
                          unsigned to) {
  using Bytes = EdgeMatrices::Bytes;
  if (which == Bytes::Target) {
    return bytes_[to];
  }
  if (from == to) {
    return 0;
  }
  switch (which) {
  case Bytes::Copy:
    return bytes_[to];
  case Bytes::Source:
    return bytes_[from];
  case Bytes::Moving:
    return std::max(peaks(from, to).first, peaks(from, to).later);
  case Bytes::Ending:
    return std::max(peaks(from, to).first,
                    peaks(from, to).later - bytes_[from]);
  case Bytes::Landing:
    return peaks(from, to).landing;
  case Bytes::Placing:
    return std::max(bytes_[from] + peaks(from, to).first,
                    peaks(from, to).later) -
           bytes_[to];
  case Bytes::Target:
  case Bytes::Prices:
    break;
  }
  llvm_unreachable("prices are no bytes");
}

void EdgeMatrices::fillClass(unsigned tensorClass, Router &router,
                             llvm::function_ref<bool()> goesOn) {
  const TensorClass &tensor = pool_.get(tensorClass);
  if (!routers_) {
    fillClass(tensorClass, router, tensor.layouts, router, goesOn);
    return;
  }
  ClassRouter known = routers_->take(links_, stepPrices_, tensor);
  std::vector<Layout> layouts;
  for (const Layout &layout : tensor.layouts) {
    layouts.push_back(renamed(layout, known.names));
  }
  fillClass(tensorClass, known.isOwn() ? *known.router : router,
            std::move(layouts), *known.router, goesOn);
  routers_->give(std::move(known), tensor);
}

/// Routes are those of `router`; prices those of `known`, which calls the
/// layouts as `names` does.
void EdgeMatrices::fillClass(unsigned tensorClass, Router &router,
                             std::vector<Layout> names, Router &known,
                             llvm::function_ref<bool()> goesOn) {
  const TensorClass &tensor = pool_.get(tensorClass);
  AlikeLayouts alike(tensor, stepPrices_.alike), own(tensor, {});
  ClassPrices prices(tensor, std::move(names), known, alike);
  std::vector<ClassBytes> kinds;
  for (const KindMemory &memory : memories_) {
    // Devices of one kind of several may stand where axes are not alike.
    kinds.emplace_back(grid_, memory, tensor, router,
                       memories_.size() == 1 ? alike : own);
  }
  for (const Request &request : requests_.at(tensorClass)) {
    const auto &[ignored, from, to, bytes, kind, repeats] = *request.ports;
    std::vector<int64_t> &entries = matrices_[request.matrix].entries;
    entries.reserve(from.size() * to.size());
    for (unsigned row : from) {
      // A matrix may ask for thousands of routes.
      bool isWanted = goesOn();
      for (unsigned column : to) {
        entries.push_back(!isWanted ? 0
                          : bytes == Bytes::Prices
                              ? prices.price(row, column, repeats)
                              : kinds[kind].bytes(bytes, row, column));
      }
    }
  }
}

/// The larger classes first, so that the threads end together. Each thread has
/// a router of its own.
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
  // Without one, this thread does all of it.
  auto helper = Thread::start("prices", [&] { work([] {}); });
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
  if (helper) {
    helper->join();
  }
}

uint32_t EdgeMatrices::zeros(const Port &from, const Port &to) {
  uint32_t rows = uint32_t(from.layouts->size());
  uint32_t columns = uint32_t(to.layouts->size());
  auto [it, isNew] =
      zeros_.try_emplace({rows, columns}, uint32_t(matrices_.size()));
  if (isNew) {
    matrices_.push_back(
        {rows, columns, std::vector<int64_t>(size_t(rows) * columns, 0)});
  }
  return it->second;
}

uint32_t EdgeMatrices::aparts(unsigned tensorClass, const Port &from,
                              const Port &to, int64_t repeats) {
  auto [it, isNew] =
      aparts_.try_emplace({tensorClass, *from.layouts, *to.layouts, *from.apart,
                           *to.apart, repeats},
                          uint32_t(matrices_.size()));
  if (!isNew) {
    return it->second;
  }
  search::Matrix &matrix = matrices_.emplace_back();
  matrix.rows = uint32_t(from.layouts->size());
  matrix.columns = uint32_t(to.layouts->size());
  matrix.entries.reserve(size_t(matrix.rows) * matrix.columns);
  for (auto [made, makerApart] : llvm::zip_equal(*from.layouts, *from.apart)) {
    bool isWhole = makerApart && !pool_.layout(tensorClass, made).isPartial();
    for (auto [used, userApart] : llvm::zip_equal(*to.layouts, *to.apart)) {
      bool isFused = isWhole && userApart && made == used;
      matrix.entries.push_back(
          isFused ? 0
                  : costOf(makerApart.value_or(0) + userApart.value_or(0),
                           repeats));
    }
  }
  return it->second;
}

} // namespace divisi::plan
