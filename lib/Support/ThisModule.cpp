//===- ThisModule.cpp - Where this code lies ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/ThisModule.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

using namespace divisi;

std::string divisi::thisProgram() {
  std::error_code error; // then the path is empty, and nothing is found there
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string divisi::thisModule() {
  static const char here = 0;
  Dl_info info{};
  void *extra = nullptr;
  if (dladdr1(&here, &info, &extra, RTLD_DL_LINKMAP) == 0 || !extra) {
    return thisProgram();
  }
  // That of the program is empty.
  std::string name = static_cast<const link_map *>(extra)->l_name;
  std::error_code error; // then the path is empty, too
  return name.empty() ? thisProgram()
                      : std::filesystem::canonical(name, error).string();
}
