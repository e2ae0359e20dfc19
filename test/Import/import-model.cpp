//===- import-model.cpp - Import, print, run and compare ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   import-model MODEL.onnx [--dim NAME=N].. [--inputs X.npz [--outputs Y.npz]]
//                [--pipeline PASSES] [--print]
//
// Imports MODEL with the shapes of X, runs PASSES, and with Y runs @init and
// @forward by the reference kernels and compares. Exits as divisi does: 8 when
// results differ.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Registration.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Import/Import.h"
#include "divisi/runtime/tensors/TensorFile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

#include <algorithm>
#include <cmath>

using namespace divisi;

static llvm::cl::opt<std::string> modelPath(llvm::cl::Positional,
                                            llvm::cl::Required);
static llvm::cl::list<std::string> dims("dim");
static llvm::cl::opt<std::string> inputsPath("inputs");
static llvm::cl::opt<std::string> outputsPath("outputs");
static llvm::cl::opt<std::string> pipeline("pipeline");
static llvm::cl::opt<bool> prints("print");

[[noreturn]] static void stop(const Status &status) {
  llvm::errs() << "error: " << status.message() << "\n";
  std::exit(static_cast<int>(status.code()));
}

static std::map<std::string, rt::HostTensor> readNpz(const std::string &path) {
  auto tensors = rt::readTensors(path, "input");
  if (!tensors) {
    stop(Status(ExitCode::File, tensors.status().message()));
  }
  std::map<std::string, rt::HostTensor> result;
  for (const rt::GivenTensor &given : *tensors) {
    auto tensor = given.take();
    if (!tensor) {
      stop(tensor.status());
    }
    result[given.label.name] = std::move(*tensor);
  }
  return result;
}

static void runPasses(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  if (mlir::failed(mlir::parsePassPipeline(pipeline, passes)) ||
      mlir::failed(passes.run(module))) {
    stop(Status(ExitCode::Internal, "the pipeline failed"));
  }
}

static rt::HostTensor valueFor(std::map<std::string, rt::HostTensor> &tensors,
                               mlir::DictionaryAttr attributes) {
  auto name = attributes.getAs<mlir::StringAttr>("nn.name");
  auto it = tensors.find(name ? name.str() : "");
  if (it == tensors.end()) {
    stop(Status(ExitCode::Usage, "no tensor for an argument or result"));
  }
  return it->second;
}

/// The largest error relative to |a−b| ≤ 1e-4·max|expected| + 1e-3·|b|.
static double errorOf(const rt::HostTensor &got,
                      const rt::HostTensor &expected) {
  if (got.dims() != expected.dims()) {
    stop(Status(ExitCode::Differs, "shapes differ"));
  }
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    double magnitude = std::abs(expected.floatAt(i));
    largest = std::isfinite(magnitude) ? std::max(largest, magnitude) : largest;
  }
  for (int64_t i = 0; i < expected.count(); ++i) {
    double a = got.floatAt(i), b = expected.floatAt(i);
    // Infinities and what is not a number have to be the same.
    bool isSame = a == b || (std::isnan(a) && std::isnan(b));
    if (isSame || !std::isfinite(b)) {
      worst = isSame ? worst : INFINITY;
      continue;
    }
    double limit = 1e-4 * largest + 1e-3 * std::abs(b);
    worst = std::max(worst, std::isnan(a) ? INFINITY : std::abs(a - b) / limit);
  }
  return worst;
}

static void compare(mlir::ModuleOp module, GlobalStore &store,
                    std::map<std::string, rt::HostTensor> &inputs) {
  auto expected = readNpz(outputsPath);
  GlobalValues globals(module, store);
  if (auto init = module.lookupSymbol<mlir::func::FuncOp>("init")) {
    auto done = evaluateFunction(init, {}, globals);
    if (!done) {
      stop(done.status());
    }
  }
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("forward");
  std::vector<rt::HostTensor> arguments;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    arguments.push_back(valueFor(inputs, forward.getArgAttrDict(i)));
  }
  auto results = evaluateFunction(forward, arguments, globals);
  if (!results) {
    stop(results.status());
  }
  double worst = 0;
  for (unsigned i = 0; i < results->size(); ++i) {
    worst = std::max(worst,
                     errorOf((*results)[i],
                             valueFor(expected, forward.getResultAttrDict(i))));
  }
  llvm::errs() << "largest error: " << worst << " of the tolerance\n";
  if (worst > 1) {
    stop(Status(ExitCode::Differs, "results differ"));
  }
}

int main(int argc, char **argv) {
  registerAllPasses();
  llvm::cl::ParseCommandLineOptions(argc, argv);
  ImportOptions options;
  for (const std::string &dim : dims) {
    size_t equals = dim.find('=');
    options.dims[dim.substr(0, equals)] =
        std::strtoll(dim.c_str() + equals + 1, nullptr, 10);
  }
  std::map<std::string, rt::HostTensor> inputs;
  if (!inputsPath.empty()) {
    inputs = readNpz(inputsPath);
    for (const auto &[name, tensor] : inputs) {
      options.inputs[name] = {tensor.dims(), tensor.type()};
    }
  }
  mlir::MLIRContext context;
  GlobalStore store;
  auto module = importOnnx(modelPath, options, context, store);
  if (!module) {
    stop(module.status());
  }
  if (!pipeline.empty()) {
    runPasses(**module);
  }
  if (prints) {
    (*module)->print(llvm::outs());
  }
  if (!outputsPath.empty()) {
    compare(**module, store, inputs);
  }
  return 0;
}
