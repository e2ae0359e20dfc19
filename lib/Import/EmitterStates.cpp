//===- EmitterStates.cpp - What a run leaves to the next one --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "dialects/NN/Bodies.h"
#include "divisi/Evaluate/Evaluator.h"

#include <bit>

using namespace divisi;
using rt::DType;

Tensor Emitter::state(const std::string &wanted, DType type,
                      const rt::Dims &dims, const OnnxTensor *initial) {
  std::string name = uniqueName(wanted);
  mlir::MLIRContext *context = module_.getContext();
  auto tensor = mlir::RankedTensorType::get(dims, toMLIRType(context, type));
  mlir::Location loc = mlir::NameLoc::get(builder_.getStringAttr(name));
  mlir::OpBuilder globals(builder_.getBlock()->getParentOp());
  auto global = nn::GlobalOp::create(
      globals, loc, builder_.getStringAttr(name),
      nn::GlobalKindAttr::get(context, nn::GlobalKind::State),
      mlir::TypeAttr::get(tensor), mlir::StringAttr(), mlir::IntegerAttr(),
      mlir::IntegerAttr(), mlir::UnitAttr());
  if (initial) {
    global.setFile(initial->data.file);
    global.setOffset(initial->data.offset);
    global.setLength(initial->data.length);
  } else {
    global.setZero(true);
  }
  auto symbol = mlir::FlatSymbolRefAttr::get(context, name);
  return argument(nn::ReadOp::create(builder_, loc, tensor, symbol), type,
                  dims);
}

bool Emitter::isState(const Tensor &tensor) const {
  auto read =
      tensor->value ? tensor->value.getDefiningOp<nn::ReadOp>() : nn::ReadOp();
  mlir::ModuleOp module = module_;
  auto global = read ? module.lookupSymbol<nn::GlobalOp>(read.getGlobal())
                     : nn::GlobalOp();
  return global && global.getKind() == nn::GlobalKind::State;
}

/// A matrix of one half twice is read as its half, and is none of these.
void Emitter::update(const Tensor &global, const Tensor &value) {
  if (!bodies_.empty()) {
    return fail(ExitCode::Unsupported,
                "it updates its statistics in a branch or loop that data "
                "decides on; export it for inference, or outside of that");
  }
  mlir::Value before = materialize(global), after = materialize(value);
  if (!status_.isOk()) {
    return;
  }
  auto read = before.getDefiningOp<nn::ReadOp>();
  nn::UpdateOp::create(builder_, location_, read.getGlobalAttr(), after);
}

/// A state counts the runs of the step.
Tensor Emitter::random(const rt::Dims &dims, std::optional<double> seed,
                       int64_t stream) {
  auto function =
      mlir::cast<mlir::FunctionOpInterface>(builder_.getBlock()->getParentOp());
  if (nn::isBody(function)) {
    fail(ExitCode::Unsupported,
         "it draws random numbers in a body; move it out");
    return argument(nullptr, DType::F32, dims);
  }
  // Of the model's seeds no bit is lost, and none is that of the others.
  int64_t bits = seed ? std::bit_cast<int64_t>(*seed) ^ (int64_t(1) << 62) : 0;
  Tensor key = integer(seed_ ^ bits);
  if (!runs_) {
    runs_ = state("random.runs", DType::I64, {});
    update(runs_, binary("add", runs_, scalar(DType::I64, 1)));
  }
  return emit("random", {key, runs_}, {{"stream", seed ? stream : streams_++}},
              DType::F32, dims);
}
