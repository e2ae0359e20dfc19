//===- SelectBackends.cpp - Backends by their names -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/core/Session.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

Expected<std::vector<const Backend *>>
divisi::rt::selectBackends(std::string_view names,
                           std::span<const Backend *const> available) {
  std::vector<const Backend *> chosen;
  while (true) {
    size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    auto it = std::find_if(
        available.begin(), available.end(),
        [&](const Backend *backend) { return backend->name() == name; });
    if (it == available.end()) {
      std::ostringstream all;
      for (const Backend *backend : available) {
        all << " " << backend->name();
      }
      return makeError(ExitCode::Usage, "no backend is named '", name,
                       "'; there are:", all.str());
    }
    chosen.push_back(*it);
    if (comma == std::string_view::npos) {
      return chosen;
    }
    names.remove_prefix(comma + 1);
  }
}
