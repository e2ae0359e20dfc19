//===- RegionPlan.h - Where the values of a region lie ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts that treat each element by itself are run together, piece by piece of
// their results, so that what one has made is still in the cache for the next:
//
//   conv             a group of its own, as a whole
//   add, relu        for each piece of the result: add, relu
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_REGIONPLAN_H
#define DIVISI_RUNTIME_KERNELS_REGIONPLAN_H

#include "runtime/kernels/Region.h"

namespace divisi::rt {

/// Where the values of one call lie, and who could make them.
class RegionPlan {
public:
  /// Of `site`, for which `runner` runs parts; both must outlive it.
  RegionPlan(const CallSite &site, const RegionRunner &runner);

  /// What the part's kernel is asked; points into the plan and the site.
  CallSite siteOf(size_t part) const;
  /// A kernel, and whose it is.
  struct Taker {
    const Kernel *kernel;   ///< Owned by the backend.
    const Backend *backend; ///< Who has it.
  };
  /// Who takes the part, those asked first in front.
  const std::vector<Taker> &takersOf(size_t part) const {
    return parts_[part].takers;
  }
  /// What the call as a whole wants.
  KernelQuery query() const;

  /// Where a value lies.
  struct Place {
    /// In whose memory.
    enum class Kind : uint8_t { Operand, Result, Workspace } kind;
    int64_t at; ///< Its number, or an offset in bytes.
  };
  /// That of value number `value`.
  Place placeOf(int value) const;
  std::vector<int> resultsOf(size_t part) const;
  /// The last part of the group that `part` begins, which are run piece by
  /// piece; `part` itself if it is run as a whole.
  size_t groupEnd(size_t part) const { return size_t(parts_[part].last); }
  /// Where parts have the workspace that they want themselves.
  int64_t scratchBegin() const { return scratchBegin_; }
  /// How much that is, of the kernels that are asked first.
  int64_t scratchBytes() const;

private:
  /// A value of a region.
  struct Value {
    const TensorInfo *info = nullptr;
    Constant constant; ///< CallSite::constants.
    int maker = -1;    ///< The part; -1: an operand of the call.
    int number = 0;    ///< Among the maker's results, or operands.
    int lastUse = -1;  ///< The last part that reads it.
    int result = -1;   ///< Of the call; -1: none.
    int first = 0;     ///< The first of the values at its place.
  };
  struct Part {
    std::vector<TensorInfo> operands;
    std::vector<Constant> constants;
    std::vector<Taker> takers;
    int firstResult = 0;     ///< Its value.
    int first = 0, last = 0; ///< The group of parts that it belongs to.
  };

  void addPart(const RegionPart &part);
  bool continuesGroup(size_t part) const;
  bool beginsGroup(size_t part) const;
  void findGroups();
  const Kernel *preferred(size_t part) const;
  bool mayOverwrite(int part, int value, int result) const;
  void sharePlaces();
  void placeInWorkspace();

  const CallSite &site_;
  const RegionRunner &runner_;
  std::vector<Value> values_;
  std::vector<Part> parts_;
  std::vector<int64_t> offsets_; ///< Per value that is the first at its place.
  int64_t scratchBegin_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_REGIONPLAN_H
