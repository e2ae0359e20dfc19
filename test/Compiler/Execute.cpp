//===- Execute.cpp - Run a model in this process --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "divisi/Evaluate/Evaluator.h"
#include "divisi/runtime/core/Session.h"

using namespace mlir;
using namespace divisi;

Expected<std::vector<rt::HostTensor>>
divisi::runByReference(Compilation &compilation, const std::string &entry,
                       const std::vector<rt::HostTensor> &inputs) {
  Expected<TemporaryArtifact> artifact = compilation.emitTemporary();
  if (!artifact) {
    return artifact.status();
  }
  rt::SessionOptions options;
  options.backends = {&rt::referenceBackend()};
  auto session = rt::Session::open(artifact->path(), options);
  if (!session) {
    return session.status();
  }
  return (*session)->run(entry, inputs);
}

Expected<std::vector<rt::HostTensor>>
divisi::evaluateOnHost(func::FuncOp function,
                       const std::vector<rt::HostTensor> &inputs) {
  GlobalStore store;
  GlobalValues globals(function->getParentOfType<ModuleOp>(), store);
  return evaluateFunction(function, inputs, globals);
}
