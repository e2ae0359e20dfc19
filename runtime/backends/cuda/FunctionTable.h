//===- FunctionTable.h - Functions of a library, by name --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_FUNCTIONTABLE_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_FUNCTIONTABLE_H

#include <cstdint>
#include <dlfcn.h>
#include <string>

// The symbol of a function, which macros of headers may rename to its version.
#define DIVISI_NAME(name) #name
#define DIVISI_SYMBOL(name) DIVISI_NAME(name)

namespace divisi::rt::cuda {

/// A version as cuDNN and NCCL number theirs: 21805 is "2.18.5".
inline std::string nameOfLibraryVersion(int64_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Fills a table; notes the first function that is not there.
class TableFiller {
public:
  /// From `library`, a handle of dlopen().
  explicit TableFiller(void *library) : library_(library) {}

  /// Lets `function` be the one with that symbol.
  template <typename Function>
  void fill(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (!function && missing.empty()) {
      missing = symbol;
    }
  }

  std::string missing; ///< Its symbol; empty: none.

private:
  void *library_;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_FUNCTIONTABLE_H
