//===- Handle.cpp - Handles that callers may get wrong --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/C/Handle.h"

#include <mutex>
#include <set>

using namespace divisi;

#ifndef NDEBUG
namespace {

/// Those that there are.
struct LiveHandles {
  std::mutex mutex;
  std::set<const Handle *> handles;
};

} // namespace

/// It is never destroyed: handles may be freed while the process exits.
static LiveHandles &live() {
  static LiveHandles *const all = new LiveHandles;
  return *all;
}
#endif

Handle::Handle(uint32_t kind) : kind_(kind) {
#ifndef NDEBUG
  std::lock_guard lock(live().mutex);
  live().handles.insert(this);
#endif
}

Handle::~Handle() {
  // A compiler may drop a plain store to what ends here.
  *const_cast<volatile uint32_t *>(&kind_) = 0;
#ifndef NDEBUG
  std::lock_guard lock(live().mutex);
  live().handles.erase(this);
#endif
}

Status Handle::check(const Handle *handle, uint32_t kind, const char *name) {
  if (!handle) {
    return makeError(ExitCode::Usage, name, " is NULL");
  }
#ifndef NDEBUG
  {
    std::lock_guard lock(live().mutex);
    if (!live().handles.contains(handle)) {
      return makeError(ExitCode::Usage, name, " was freed, or never made");
    }
  }
#endif
  return handle->kind_ == kind
             ? Status()
             : makeError(ExitCode::Usage, name,
                         " is a handle of another kind, or was freed");
}

Status HandleUse::status(const char *name) const {
  return isMine_ ? Status()
                 : makeError(ExitCode::Usage, name,
                             " is at work on another thread; use one for each "
                             "thread");
}
