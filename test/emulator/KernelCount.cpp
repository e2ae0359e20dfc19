//===- KernelCount.cpp - How many kernels tests have run ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/KernelCount.h"

#include "divisi/Codegen/GridKernels.h"
#include "test/emulator/Ptxas.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace divisi;

namespace {

/// Ends with the program.
class Kernels {
public:
  ~Kernels();
  void add(const rt::CallSite &site);

private:
  std::set<std::string> structures_;
  int assembled_ = 0;
};

} // namespace

Kernels::~Kernels() {
  std::printf("counted: kernels that were generated, run and compared: %zu, %d "
              "of them assembled\n",
              structures_.size(), assembled_);
  if (const char *file = std::getenv("DIVISI_KERNEL_LIST")) {
    std::ofstream list(file);
    for (const std::string &structure : structures_) {
      list << structure << "\n";
    }
  }
}

void Kernels::add(const rt::CallSite &site) {
  constexpr size_t every = 60;
  std::string structure = gridStructure(site);
  std::ranges::replace(structure, '\n', '|');
  bool isNew = structures_.insert(std::move(structure)).second;
  bool isTurn =
      structures_.size() % every == 1 || std::getenv("DIVISI_EVERY_KERNEL");
  if (isNew && isTurn && test::hasPtxas()) {
    EXPECT_EQ(test::assembleKernel(site), "");
    ++assembled_;
  }
}

void test::countKernel(const rt::CallSite &site) {
  static Kernels kernels;
  kernels.add(site);
}
