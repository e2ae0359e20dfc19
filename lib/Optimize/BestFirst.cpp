//===- BestFirst.cpp - Searching programs, cheapest first -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/BestFirst.h"

#include "dialects/NN/Known.h"
#include "divisi/Optimize/Segments.h"
#include "lib/Optimize/Tidy.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace divisi;
using namespace divisi::optimize;

struct BestFirst::Impl {
  Impl(mlir::MLIRContext *context, rewrite::SiteFinder &sites,
       const DeviceKind &kind, SearchLimits limits)
      : sites(sites), kind(kind), limits(limits), tidy(context) {}

  Expected<bool> expand(const FoundProgram &from, const nn::KnownValues &known);
  Status add(FoundProgram program, const nn::KnownValues &known);

  rewrite::SiteFinder &sites;
  const DeviceKind &kind;
  SearchLimits limits;
  Tidy tidy;
  /// Of one run: by price, then by when they were made.
  std::map<std::pair<Price, int64_t>, FoundProgram> open;
  llvm::DenseSet<uint64_t> seen;
  SearchResult result;
};

BestFirst::BestFirst(mlir::MLIRContext *context, rewrite::SiteFinder &sites,
                     const DeviceKind &kind, SearchLimits limits)
    : impl_(std::make_unique<Impl>(context, sites, kind, limits)) {}
BestFirst::~BestFirst() = default;

static FoundProgram copyOf(const FoundProgram &program) {
  return {program.module.get().clone(), program.price, program.steps};
}

/// Queues a program unless it is known or too dear.
Status BestFirst::Impl::add(FoundProgram program,
                            const nn::KnownValues &known) {
  if (Status status = tidy.run(*program.module); !status.isOk()) {
    return status;
  }
  mlir::func::FuncOp function = functionOf(*program.module);
  if (!seen.insert(fingerprint(function)).second) {
    return Status();
  }
  program.price = priceOf(function.front(), known, kind);
  bool isFirst = result.programs == 1;
  if (isFirst) {
    result.before = program.price;
  }
  if (isFirst || program.price < result.best.price) {
    result.best = copyOf(program);
  }
  if (double(program.price.nanoseconds) <=
      limits.slack * double(result.best.price.nanoseconds)) {
    open.emplace(std::pair(program.price, result.programs), std::move(program));
  }
  return Status();
}

/// Makes all programs that are one rule away; whether the budget allows it.
Expected<bool> BestFirst::Impl::expand(const FoundProgram &from,
                                       const nn::KnownValues &known) {
  for (rewrite::RuleSite site : sites.find(functionOf(*from.module), known)) {
    if (result.programs == limits.programs) {
      return false;
    }
    ++result.programs;
    FoundProgram next = copyOf(from);
    auto results = sites.apply(functionOf(*next.module), known, site);
    if (!results) {
      continue; // what it reads cannot be moved there
    }
    next.steps.push_back({site.rule, std::move(*results)});
    if (Status status = add(std::move(next), known); !status.isOk()) {
      return status;
    }
  }
  return true;
}

Expected<SearchResult> BestFirst::run(mlir::ModuleOp source, int64_t programs) {
  int64_t most = std::exchange(impl_->limits.programs,
                               std::min(programs, impl_->limits.programs));
  auto result = run(source);
  impl_->limits.programs = most;
  return result;
}

Expected<SearchResult> BestFirst::run(mlir::ModuleOp source) {
  Impl &impl = *impl_;
  impl.open.clear();
  impl.seen.clear();
  impl.result = {};
  impl.result.programs = 1;
  // Rules change no global, so that this holds in all programs.
  nn::KnownValues known(source);
  if (Status status = impl.add({source.clone(), {}, {}}, known);
      !status.isOk()) {
    return status;
  }
  bool isLeft = true;
  while (isLeft && !impl.open.empty()) {
    FoundProgram next =
        std::move(impl.open.extract(impl.open.begin()).mapped());
    if (double(next.price.nanoseconds) >
        impl.limits.slack * double(impl.result.best.price.nanoseconds)) {
      continue; // something cheaper was found since
    }
    auto more = impl.expand(next, known);
    if (!more) {
      return more.status();
    }
    isLeft = *more;
  }
  impl.result.isComplete = isLeft;
  impl.open.clear();
  return std::move(impl.result);
}
