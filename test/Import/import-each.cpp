//===- import-each.cpp - What the importer says of many models ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   import-each [--depth N] [--nodes N] [--expansion N] MODEL.onnx…
//
// Prints for each model the exit code that its import means, a tab and the
// message. The limits are those of OnnxLimits.
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"

using namespace divisi;

static llvm::cl::list<std::string> paths(llvm::cl::Positional,
                                         llvm::cl::OneOrMore);
static llvm::cl::opt<int> depth("depth", llvm::cl::init(64));
static llvm::cl::opt<int64_t> nodes("nodes", llvm::cl::init(1000));
static llvm::cl::opt<int64_t> expansion("expansion", llvm::cl::init(1000));

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  ImportOptions options;
  options.limits.depth = depth;
  options.limits.nodes = nodes;
  options.limits.expansion = expansion;
  for (const std::string &path : paths) {
    mlir::MLIRContext context;
    GlobalStore store;
    auto module = importOnnx(path, options, context, store);
    llvm::outs() << static_cast<int>(module.status().code()) << "\t"
                 << module.status().message() << "\n";
  }
  return 0;
}
