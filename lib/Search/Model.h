//===- Model.h - A problem as solvers want it -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs as doubles (infeasible as 1e17, which sums exactly enough), parallel
// edges merged, edges to nodes without a choice folded into the other node,
// and time compressed to the segments between which usage can change.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_MODEL_H
#define DIVISI_LIB_SEARCH_MODEL_H

#include "divisi/Search/Problem.h"

#include <span>

namespace divisi::search {

using Assignment = std::vector<uint32_t>;

/// What infeasible costs count as, and from where a sum holds one.
inline constexpr double kForbidden = 1e17, kForbiddenSum = 1e16;

/// A matrix in both orientations, so that inner loops walk memory in order.
struct Table {
  uint32_t rows = 0, columns = 0;
  std::vector<double> forward, backward;
};

/// An edge between two variables, u < v.
struct Link {
  uint32_t u = 0, v = 0;
  uint32_t table = 0;
  /// Transient memory: the usages and their segments; such a link has a table
  /// of its own that includes the price of memory.
  const Matrix *usages = nullptr;
  uint32_t base = 0;
  bool swapped = false; ///< `usages` has v's strategies as rows.
  size_t begin = 0, end = 0;
};

/// A link seen from one of its ends.
struct Incidence {
  uint32_t link = 0, other = 0;
  bool first = false; ///< This end is the link's u.
};

/// A node: what its states cost and use.
struct Variable {
  std::vector<double> base;   ///< Without the price of memory.
  std::vector<double> priced; ///< With it.
  const std::vector<int64_t> *usages = nullptr;
  size_t begin = 0, end = 0; ///< Segments.
  std::vector<Incidence> links;
};

/// Usage per segment.
using Usage = std::vector<double>;

class Model {
public:
  explicit Model(const Problem &problem);

  std::span<const Variable> variables() const { return variables_; }
  std::span<const Link> links() const { return links_; }
  size_t numStates(uint32_t v) const { return variables_[v].base.size(); }
  size_t numSegments() const { return times_.size(); }
  int64_t time(size_t segment) const { return times_[segment]; }
  std::optional<double> limit() const { return limit_; }

  /// Row `state` of the matrix between a variable and the other end of one of
  /// its links.
  const double *row(const Incidence &end, uint32_t state) const {
    const Table &table = tables_[links_[end.link].table];
    return end.first ? table.forward.data() + size_t(state) * table.columns
                     : table.backward.data() + size_t(state) * table.rows;
  }

  /// Sets the price of a byte in each segment.
  void setPrices(const std::vector<double> &prices);

  /// The cost with and without the price of memory.
  double pricedCost(const Assignment &assignment) const;
  double cost(const Assignment &assignment) const;
  Usage usage(const Assignment &assignment) const;
  /// What a link uses under an assignment of its two ends.
  int64_t linkUsage(const Link &link, uint32_t u, uint32_t v) const;
  /// How far the largest usage exceeds the limit; at most 0 if it does not.
  double excess(const Usage &usage) const;
  /// Entries of all matrices: the work of walking each once.
  int64_t size() const { return size_; }

private:
  void compressTime(const Problem &problem);
  void addLinks(const Problem &problem);
  bool fold(const Edge &edge, const Matrix &matrix);
  uint32_t addTable(const Matrix &matrix, bool transposed);
  void addTo(uint32_t table, const Matrix &matrix, bool transposed);
  size_t segment(int64_t time) const;

  std::vector<Variable> variables_;
  std::vector<Link> links_;
  std::vector<Table> tables_;
  std::vector<int64_t> times_;
  std::optional<double> limit_;
  int64_t size_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_MODEL_H
