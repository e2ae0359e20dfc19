//===- Loops.h - The loops of an operator, and their splits -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator states its loops; everything else follows. A matmul of labels
// "mk,kn->mn" has the loops m and n (parallel) and k (a sum); its operand 0 has
// the dimensions (m)(k), operand 1 (k)(n), its result (m)(n). Splitting m over
// the axis x and k over y therefore lays operand 0 out as [x, y], operand 1 as
// [y, *], and leaves the result [x, *] partial sum {y}.
//
// A dimension is one of
//   product  the ordered product of loops, major first: `(b s)` is a flattened
//            [B·S]; one loop is the usual case; none means that every iteration
//            reads index 0 (a broadcast) or the whole dimension;
//   window   index = loop*stride + tap - lo for tap in [0, reach]: convolution,
//            slice (lo = -start), pad, an operand of concat (lo = offset);
//   table    iteration i reads the indices in reach[i]: interpolation.
//
// All extents are global. A shard of an operator is the same operator, with the
// same attributes, seen through a box: kernels get the global offset of every
// operand and result and need no attribute rewritten.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_LOOPS_H
#define DIVISI_LAYOUT_LOOPS_H

#include "divisi/Layout/Layout.h"

namespace divisi {

/// What splitting a loop means.
enum class LoopKind : uint8_t {
  Parallel,  ///< Iterations are independent and each makes its own results.
  Reduction, ///< Iterations combine: a split leaves the results partial.
  Indexed,   ///< Rows of a table chosen by data: a shard does the rows that it
             ///< holds, and the results are partial.
  Exchange,  ///< Iterations talk (softmax's own axis); not split yet.
  Whole,     ///< Never split.
};
/// `parallel`, `reduction`, `indexed`, `exchange` or `whole`.
llvm::StringRef stringifyLoopKind(LoopKind kind);

/// One loop of an operator.
struct Loop {
  std::string name;   ///< Unique in the operator; [a-z][a-z0-9_]*.
  int64_t extent = 0; ///< How many iterations it has.
  LoopKind kind = LoopKind::Parallel; ///< What splitting it means.
  /// How partial results combine, for Reduction and Indexed.
  ReduceKind reduce = ReduceKind::Sum;

  /// Whether axes may split it.
  bool isSplittable() const {
    return kind != LoopKind::Exchange && kind != LoopKind::Whole;
  }
  /// Whether a split leaves results partial, that lack the loop.
  bool leavesPartial() const {
    return kind == LoopKind::Reduction || kind == LoopKind::Indexed;
  }
};

/// A loop of an operator, by its place in LoopNest::loops.
struct LoopId {
  uint32_t index = 0; ///< In LoopNest::loops.
  friend bool operator==(LoopId, LoopId) = default;
  friend auto operator<=>(LoopId, LoopId) = default;
};

/// How one dimension of an operand or result follows from the loops.
struct DimMap {
  /// See the file's head.
  enum class Kind : uint8_t { Product, Window, Table };
  Kind kind = Kind::Product; ///< Which of the fields below count.
  /// Product: major first, may be empty. Window and Table: exactly one.
  llvm::SmallVector<LoopId, 2> loops;
  /// Window: indices loop*stride - lo ... loop*stride - lo + reach, clipped to
  /// the tensor. The stride may be negative, never 0.
  int64_t stride = 1, lo = 0, reach = 0;
  /// Table: per iteration, the indices that it reads.
  llvm::SmallVector<Interval, 0> table;

  /// No loop: a broadcast, or the whole dimension.
  static DimMap none() { return {}; }
  /// One loop, iteration for index.
  static DimMap loop(LoopId loop);
  /// Several, major first.
  static DimMap product(llvm::ArrayRef<LoopId> loops);
  /// A window that a loop slides.
  static DimMap window(LoopId loop, int64_t stride, int64_t lo, int64_t reach);
  /// What each iteration of `loop` reads.
  static DimMap tabulated(LoopId loop, llvm::ArrayRef<Interval> table);

  /// Whether the dimension follows from `loop`.
  bool mentions(LoopId loop) const;
};

/// The dimensions of one operand or result.
struct TensorMap {
  llvm::SmallVector<DimMap, 4> dims;   ///< One per dimension.
  llvm::SmallVector<int64_t, 4> shape; ///< Global.

  /// Whether some dimension follows from `loop`.
  bool mentions(LoopId loop) const;
};

/// What an operator states about itself.
struct LoopNest {
  llvm::SmallVector<Loop, 6> loops;         ///< In any order.
  llvm::SmallVector<TensorMap, 3> operands; ///< One per operand.
  llvm::SmallVector<TensorMap, 1> results;  ///< One per result.
  /// Sets of operands (ascending) in which the operator is jointly linear, the
  /// others held fixed: {0},{1} for matmul, {0,1} for add. A partial sum may be
  /// carried through one set.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linear;
  /// Which of these sets carry no sum, ascending: another operand multiplies
  /// it that may be infinite, and 0 times that is no number. Operators leave it
  /// empty; who sees their operands fills it (dialects/NN/Carries.h).
  llvm::SmallVector<unsigned, 2> barred;
  /// Floating-point operations per point of the product of all loops.
  double flopsPerPoint = 0;

  /// The loop called `name`, if there is one.
  std::optional<LoopId> find(llvm::StringRef name) const;
  /// The loop itself.
  const Loop &loop(LoopId id) const { return loops[id.index]; }
  /// Appends a loop and returns its id.
  LoopId add(llvm::StringRef name, int64_t extent,
             LoopKind kind = LoopKind::Parallel,
             ReduceKind reduce = ReduceKind::Sum);
  /// The product of all extents times flopsPerPoint.
  double flops() const;
};

/// A strategy without its grid: which axes split which loop, and which axes a
/// partial sum is carried over. Axes that stand nowhere replicate the work.
struct Split {
  /// Per loop of the nest, outermost axis first.
  llvm::SmallVector<llvm::SmallVector<AxisId, 2>, 6> loopAxes;
  /// Axes over which the operands in LoopNest::linear[carrySet] come partial
  /// (sum) and the results leave partial; ascending.
  llvm::SmallVector<AxisId, 2> carryAxes;
  unsigned carrySet = 0;

  /// No axis anywhere.
  static Split replicated(const LoopNest &nest);

  /// The axes in use, ascending.
  llvm::SmallVector<AxisId, 4> usedAxes() const;

  /// Whether `loop` has more than one shard.
  bool splits(const Grid &grid, LoopId loop) const;

  /// Prints `b@data, n@x.y, carry sum@z` (`carry sum@z in 1` for a linear set
  /// other than 0); nothing for a replicated operator.
  void print(llvm::raw_ostream &os, const Grid &grid,
             const LoopNest &nest) const;

  friend bool operator==(const Split &, const Split &) = default;
  friend llvm::hash_code hash_value(const Split &split) {
    llvm::hash_code code =
        llvm::hash_combine(llvm::hash_combine_range(split.carryAxes.begin(),
                                                    split.carryAxes.end()),
                           split.carrySet);
    for (const auto &axes : split.loopAxes) {
      code = llvm::hash_combine(
          code, llvm::hash_combine_range(axes.begin(), axes.end()));
    }
    return code;
  }
};

/// What is wrong with a nest, as a message, or nothing: a loop named twice, a
/// dimension on an unknown loop or whose loops do not fill it, a loop twice in
/// one tensor, a parallel loop that a result lacks, a linear set without such
/// operands. A nest that fails here is a bug of the operator that states it;
/// all that follows asks for a nest that verifies.
std::optional<std::string> verifyNest(const LoopNest &nest);

/// Why `split` cannot be applied to an operator with `nest`, as a message, or
/// nothing if it can: an axis used twice, a loop that is never split, the minor
/// factor of a product split before the major one is split to single
/// iterations, results partial in two ways, a carry without a linear set or in
/// one that is barred.
std::optional<std::string> verifySplit(const LoopNest &nest, const Grid &grid,
                                       const Split &split);

/// The layout that a legal `split` gives operand `index`; canonical.
Layout operandLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                     unsigned index);
/// The same of result `index`.
Layout resultLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                    unsigned index);

/// The iterations of `loop` that run at each shardIndex over its axes.
llvm::SmallVector<Interval, 4> loopShards(const LoopNest &nest,
                                          const Grid &grid, const Split &split,
                                          LoopId loop);

/// The most iterations of `loop` that run at one position of `part`.
int64_t largestShard(const LoopNest &nest, const Grid &grid, const Split &split,
                     LoopId loop, const GridPart &part = {});

/// The largest number of floating-point operations at any position of `part`.
double localFlops(const LoopNest &nest, const Grid &grid, const Split &split,
                  const GridPart &part = {});

/// Every useful legal split of an operator over the axes of `grid`, the
/// replicated one first, in a fixed order. An axis goes to at most one loop, or
/// to the carry, or nowhere; axes that meet in a loop do so in grid order. A
/// loop whose shards are single iterations is not split further, and axes of
/// size 1 are not used. Stops after `limit` splits.
llvm::SmallVector<Split, 0> enumerateSplits(const LoopNest &nest,
                                            const Grid &grid, size_t limit);

} // namespace divisi

#endif // DIVISI_LAYOUT_LOOPS_H
