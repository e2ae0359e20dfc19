//===- OnnxScope.cpp - The module that a node comes from ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxScope.h"

using namespace divisi;

/// `['', 'm', 'm.h.0', 'add_1']` → `m.h.0`: the last entry is the node itself.
static std::string scopeFromMetadata(const std::string &list) {
  std::vector<std::string> names;
  for (size_t at = 0; at < list.size();) {
    size_t open = list.find_first_of("'\"", at);
    if (open == std::string::npos) {
      break;
    }
    size_t close = list.find(list[open], open + 1);
    if (close == std::string::npos) {
      break;
    }
    names.push_back(list.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return names.size() < 2 ? "" : names[names.size() - 2];
}

/// `/m/h.0/attn/MatMul` → `m.h.0.attn`.
static std::string scopeFromName(const std::string &name) {
  size_t last = name.rfind('/');
  if (last == std::string::npos) {
    return "";
  }
  std::string scope = name.substr(0, last);
  if (!scope.empty() && scope.front() == '/') {
    scope.erase(0, 1);
  }
  for (char &c : scope) {
    c = c == '/' ? '.' : c;
  }
  return scope;
}

std::string divisi::scopeOf(const onnx::NodeProto &node) {
  for (const auto &entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.name_scopes") {
      return scopeFromMetadata(entry.value());
    }
  }
  return scopeFromName(node.name());
}
