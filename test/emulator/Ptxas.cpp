//===- Ptxas.cpp - What the assembler says of kernels ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Ptxas.h"

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/code/GridCode.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include <unistd.h>

using namespace divisi;

static constexpr char ptxas[] = "/usr/local/cuda/bin/ptxas";

bool divisi::test::hasPtxas() { return access(ptxas, X_OK) == 0; }

std::string divisi::test::assemble(const std::string &ptx,
                                   const std::string &architecture) {
  std::string base = testing::TempDir() + "grid-" + std::to_string(getpid());
  std::ofstream(base + ".ptx") << ptx;
  std::string command = std::string(ptxas) + " -v -arch=" + architecture + " " +
                        base + ".ptx -o " + base + ".cubin 2>" + base + ".log";
  bool isDone = std::system(command.c_str()) == 0;
  std::stringstream said;
  said << std::ifstream(base + ".log").rdbuf();
  for (const char *suffix : {".ptx", ".cubin", ".log"}) {
    std::remove((base + suffix).c_str());
  }
  bool spills = said.str().find(" 0 bytes spill stores, 0 bytes spill loads") ==
                std::string::npos;
  return isDone && !spills ? "" : said.str();
}

std::string divisi::test::assembleKernel(const rt::CallSite &site) {
  auto ptx = generateGridKernel(site, rt::ptxTarget("sm_80"));
  if (!ptx) {
    return ptx.status().message();
  }
  std::string said;
  for (const char *architecture : {"sm_80", "sm_90", "sm_100"}) {
    said += assemble(*ptx, architecture);
  }
  return said.empty() ? said : said + gridStructure(site);
}
