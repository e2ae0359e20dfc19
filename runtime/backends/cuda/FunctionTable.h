//===- FunctionTable.h - Functions of a library, by name --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_FUNCTIONTABLE_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_FUNCTIONTABLE_H

#include <dlfcn.h>
#include <string>

// The symbol of a function, which macros of headers may rename to its version.
#define DIVISI_NAME(name) #name
#define DIVISI_SYMBOL(name) DIVISI_NAME(name)

namespace divisi::rt::cuda {

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
