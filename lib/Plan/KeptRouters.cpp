//===- KeptRouters.cpp - Routers for problems to come ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptRouters.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi::plan {

bool ClassRouter::isOwn() const {
  return llvm::all_of(llvm::enumerate(names), [](const auto &axis) {
    return axis.value() == axis.index();
  });
}

ClassRouter KeptRouters::take(const std::shared_ptr<const GridLinks> &links,
                              const StepPrices &prices,
                              const TensorClass &tensor) {
  {
    std::scoped_lock lock(mutex_);
    std::vector<ClassRouter> &kept = kept_[{tensor.shape, tensor.bits}];
    for (ClassRouter &router : kept) {
      if (auto names = links->matchAxes(*router.links)) {
        ClassRouter taken = std::move(router);
        taken.names = std::move(*names);
        router = std::move(kept.back());
        kept.pop_back();
        return taken;
      }
    }
  }
  ClassRouter made = {std::make_unique<Router>(links->grid(), prices), links};
  for (uint32_t axis = 0; axis != links->grid().numAxes(); ++axis) {
    made.names.push_back(axis);
  }
  return made;
}

/// Of two that found the same side by side, one is enough.
void KeptRouters::give(ClassRouter router, const TensorClass &tensor) {
  std::scoped_lock lock(mutex_);
  std::vector<ClassRouter> &kept = kept_[{tensor.shape, tensor.bits}];
  if (llvm::none_of(kept, [&](const ClassRouter &other) {
        return router.links->matchAxes(*other.links).has_value();
      })) {
    kept.push_back(std::move(router));
  }
}

} // namespace divisi::plan
