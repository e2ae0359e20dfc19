//===- Import.cpp - From an ONNX model to nn ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/Import.h"
#include "GraphImporter.h"
#include "InputShapes.h"
#include "SequenceInputs.h"
#include "dialects/NN/Batches.h"
#include "divisi/Evaluate/Evaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace divisi;

namespace {

/// What --state names, and the values that these have at entry.
struct States {
  std::vector<StatePair> pairs;
  std::map<std::string, mlir::Value> reads; ///< By their inputs.
};

} // namespace

static mlir::Type tensorType(mlir::MLIRContext &context, rt::DType type,
                             const rt::Dims &dims) {
  return mlir::RankedTensorType::get(dims, toMLIRType(&context, type));
}

/// @forward with one argument per input and an open body. Constants and states
/// are none.
static mlir::func::FuncOp
createFunction(mlir::ModuleOp module, const std::vector<InputShape> &inputs) {
  mlir::MLIRContext &context = *module.getContext();
  mlir::OpBuilder builder(&context);
  builder.setInsertionPointToEnd(module.getBody());
  std::vector<mlir::Type> types;
  std::vector<const InputShape *> taken;
  for (const InputShape &input : inputs) {
    if (!input.constant && !input.state) {
      types.push_back(tensorType(context, input.type, input.dims));
      taken.push_back(&input);
    }
  }
  auto function = mlir::func::FuncOp::create(
      builder, module.getLoc(), "forward", builder.getFunctionType(types, {}));
  function.addEntryBlock();
  for (auto [i, input] : llvm::enumerate(taken)) {
    function.setArgAttr(unsigned(i), "nn.name",
                        builder.getStringAttr(input->name));
    if (input->isShared) {
      function.setArgAttr(unsigned(i), nn::kSharedAttr, builder.getUnitAttr());
    }
  }
  return function;
}

/// Ends the body with a return of `results`, but for the next values of states,
/// and says so in the signature.
static Status finishFunction(mlir::func::FuncOp function,
                             const OnnxGraph &graph,
                             const std::vector<Tensor> &results,
                             const States &states, Emitter &emitter) {
  std::vector<mlir::Value> values;
  std::vector<std::string> names;
  for (const auto &[result, output] : llvm::zip_equal(results, graph.outputs)) {
    if (!result->sequence) {
      values.push_back(emitter.materialize(result));
      names.push_back(output.name);
      continue;
    }
    for (const auto &[i, tensor] : llvm::enumerate(*result->sequence)) {
      values.push_back(emitter.materialize(tensor));
      names.push_back(elementName(output.name, i));
    }
  }
  Status status =
      countRows(emitter.builder(), emitter.countedRows(), values, names);
  status = status.isOk() ? updateStates(emitter.builder(), states.pairs,
                                        states.reads, values, names)
                         : status;
  if (!status.isOk()) {
    return status;
  }
  mlir::func::ReturnOp::create(emitter.builder(), function.getLoc(), values);
  function.setType(mlir::FunctionType::get(
      function.getContext(), function.getFunctionType().getInputs(),
      llvm::SmallVector<mlir::Type>(mlir::ValueRange(values).getTypes())));
  for (size_t i = 0; i < values.size(); ++i) {
    function.setResultAttr(static_cast<unsigned>(i), "nn.name",
                           emitter.builder().getStringAttr(names[i]));
  }
  return Status();
}

// The IR is verified here, so that a defect of an importer is not taken for one
// of the passes that follow.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(const OnnxModel &model, const ImportOptions &options,
            mlir::MLIRContext &context, GlobalStore &store) {
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  States states;
  auto pairs = resolveStates(model.graph, options);
  if (!pairs) {
    return pairs.status();
  }
  states.pairs = std::move(*pairs);
  auto inputs = resolveInputs(model.graph, options, states.pairs);
  std::string where = "'" + model.path + "'";
  if (!inputs) {
    // What the command line lacks is not the file's.
    bool isOfModel = inputs.status().code() == ExitCode::Unsupported;
    return isOfModel ? inputs.status().in(where) : inputs.status();
  }
  // Without its folder, which a dump would carry to other machines.
  mlir::Location location = mlir::FileLineColLoc::get(
      &context, llvm::sys::path::filename(model.path), 0, 0);
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(location));
  mlir::func::FuncOp function = createFunction(*module, *inputs);

  Emitter emitter(*module, store, options.foldLimit, options.trains,
                  options.seed);
  emitter.builder().setInsertionPointToStart(&function.getBody().front());
  std::map<std::string, Tensor> arguments;
  GraphImporter importer(model, options, emitter, store);
  unsigned next = 0;
  for (const InputShape &input : *inputs) {
    if (input.constant) {
      arguments[input.name] = emitter.constant(*input.constant);
      continue;
    }
    mlir::Value value =
        input.state ? mlir::Value() : function.getArgument(next++);
    Tensor &argument = arguments[input.name];
    if (!input.unsupported.empty()) {
      argument = importer.missingInput(unsupportedPlace(input));
    } else if (input.state) {
      argument = emitter.state(input.name, input.type, input.dims,
                               input.state->initial);
      states.reads[input.name] = argument->value;
    } else {
      argument = emitter.argument(value, input.type, input.dims);
    }
  }
  auto results = importer.run(arguments);
  if (!results) {
    return results.status().in(where);
  }
  Status finished =
      finishFunction(function, model.graph, *results, states, emitter);
  if (!finished.isOk()) {
    return finished.in(where);
  }
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        message += (message.empty() ? "" : "; ") + diagnostic.str();
        return mlir::success();
      });
  if (mlir::failed(mlir::verify(*module))) {
    return Status(ExitCode::Internal,
                  where +
                      " was imported into invalid IR; please "
                      "report this model: " +
                      message);
  }
  return module;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
divisi::importOnnx(const std::string &path, const ImportOptions &options,
                   mlir::MLIRContext &context, GlobalStore &store) {
  auto model = readOnnxModel(path, store, options.limits);
  if (!model) {
    return model.status();
  }
  for (const std::string &note : model->notes) {
    if (options.note) {
      options.note("'" + path + "': " + note);
    }
  }
  expandSequences(model->graph, options);
  auto module = importModel(*model, options, context, store);
  if (module && model->annotated && options.annotated) {
    options.annotated(*model->annotated, **module);
  }
  return module;
}
