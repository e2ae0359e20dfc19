//===- EdgeMatrices.h - What conversions cost -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_EDGEMATRICES_H
#define DIVISI_LIB_PLAN_EDGEMATRICES_H

#include "Choices.h"
#include "KeptRouters.h"
#include "KindMemory.h"

#include "divisi/Cluster/GridLinks.h"
#include "divisi/Route/Router.h"
#include "divisi/Search/Problem.h"

#include <functional>
#include <map>
#include <tuple>

namespace divisi::plan {

/// Costs of the problem are nanoseconds in this unit, and less than one of them
/// for all that rests: of plans that are equally fast, the one that keeps less.
inline constexpr int64_t kNanosecond = int64_t(1) << 20;
/// The nanoseconds in `cost`, a sum over some nodes and edges, or a bound of
/// one: what costs no less takes no less.
inline int64_t nanosecondsOf(search::Wide cost) {
  return int64_t(cost / kNanosecond);
}
/// A time that is taken `repeats` times, at least once, as a cost; what is
/// beyond any use is not more than can be added.
inline int64_t costOf(int64_t nanoseconds, int64_t repeats = 1) {
  constexpr int64_t kMost = search::kInfeasible / kNanosecond / 2;
  bool isMost = nanoseconds >= kMost / repeats;
  return (isMost ? kMost : nanoseconds * repeats) * kNanosecond;
}

/// One end of an edge: a node, and per strategy of it the layout of a tensor.
struct Port {
  unsigned node = 0; ///< Of the planning problem.
  /// In the pool's class of the tensor, one for each strategy; owned by the
  /// problem.
  const std::vector<unsigned> *layouts = nullptr;
  /// What the operator takes more where this end is not fused.
  const std::vector<ApartTime> *apart = nullptr;
};

/// Fills the matrices of a problem: most edges of a model are alike and share
/// theirs.
class EdgeMatrices {
public:
  /// fill() ends early once `isStruck`, which any thread may ask; what is
  /// filled then is of no use. It calls `tell` now and then. Routers are taken
  /// of `routers`, which may be null. All that is named must outlive it.
  EdgeMatrices(const Grid &grid, const GridLinks &links, KeptRouters *routers,
               KindMemories memories, const LayoutPool &pool,
               std::vector<search::Matrix> &matrices,
               std::function<bool()> isStruck, std::function<void()> tell);

  /// Of what it takes to bring a tensor of the class from one to the other so
  /// many times. Its entries are there after fill().
  uint32_t prices(unsigned tensorClass, const Port &from, const Port &to,
                  int64_t repeats = 1) {
    return request(
        {tensorClass, *from.layouts, *to.layouts, Bytes::Prices, 0, repeats});
  }
  /// Which bytes a matrix counts, on the fullest device of a kind. Of the first
  /// five there are none where the layouts are equal; a route of several steps
  /// has two tensors at a time.
  enum class Bytes : uint8_t {
    Copy,    ///< Of the second tensor.
    Source,  ///< Of the first tensor.
    Moving,  ///< On the way, beside the first tensor.
    Ending,  ///< The same, of a first tensor that its first step frees.
    Landing, ///< The same without the second tensor, which lies elsewhere.
    Placing, ///< The same, beside the second, which counts already.
    Target,  ///< Of the second tensor, also where it is the first.
    Prices,  ///< None: nanoseconds.
  };
  /// Of tensors of the class, on devices of the kind of that number. Its
  /// entries may only be there after fill().
  uint32_t usages(unsigned tensorClass, const Port &from, const Port &to,
                  Bytes bytes, unsigned kind) {
    return request({tensorClass, *from.layouts, *to.layouts, bytes, kind, 1});
  }
  /// Of no cost.
  uint32_t zeros(const Port &from, const Port &to);
  /// Of what it takes more where two operators are not one kernel: their
  /// layouts differ or are partial, or one of them is a view.
  uint32_t aparts(unsigned tensorClass, const Port &from, const Port &to,
                  int64_t repeats = 1);
  /// Prices what was asked for, on two threads.
  void fill();

private:
  using PortKey = std::tuple<unsigned, std::vector<unsigned>,
                             std::vector<unsigned>, Bytes, unsigned, int64_t>;
  /// A matrix without entries, and what it is of.
  struct Request {
    uint32_t matrix = 0;
    const PortKey *ports = nullptr;
  };

  uint32_t request(PortKey key);
  void fillClass(unsigned tensorClass, Router &router,
                 llvm::function_ref<bool()> goesOn);
  void fillClass(unsigned tensorClass, Router &router,
                 std::vector<Layout> names, Router &known,
                 llvm::function_ref<bool()> goesOn);

  Grid grid_;
  std::shared_ptr<const GridLinks> links_;
  StepPrices stepPrices_;
  KeptRouters *routers_;
  KindMemories memories_;
  const LayoutPool &pool_;
  std::vector<search::Matrix> &matrices_;
  std::function<bool()> isStruck_;
  std::function<void()> tell_;
  std::map<PortKey, uint32_t> known_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> zeros_; ///< By extents.
  /// By class, layouts and times of both ends, and repeats.
  std::map<std::tuple<unsigned, std::vector<unsigned>, std::vector<unsigned>,
                      std::vector<ApartTime>, std::vector<ApartTime>, int64_t>,
           uint32_t>
      aparts_;
  std::map<unsigned, std::vector<Request>> requests_; ///< By class.
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_EDGEMATRICES_H
