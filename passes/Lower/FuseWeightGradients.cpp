//===- FuseWeightGradients.cpp - Gradients by weights as one call ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace divisi {
#define GEN_PASS_DEF_FUSEWEIGHTGRADIENTS
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// The calls that one takes the place of.
struct Parts {
  CallOp x, dy;  ///< Transposes of the operands.
  CallOp conv;   ///< The convolution.
  CallOp result; ///< The transpose behind it; null if something else is there.

  SmallVector<CallOp, 4> all() const {
    SmallVector<CallOp, 4> calls = {x, dy, conv};
    if (result) {
      calls.push_back(result);
    }
    return calls;
  }
};

/// Finds and fuses those of one program.
class WeightGradients {
public:
  WeightGradients(ProgramOp program, const llvm::StringSet<> &updated)
      : program_(program), sites_(program, updated) {}

  /// Returns how many.
  int64_t fuse();

private:
  void index();
  CallOp swapOf(Value buffer) const;
  std::optional<Parts> partsOf(CallOp conv) const;
  CallOp makeCall(Parts parts) const;

  ProgramOp program_;
  CallSites sites_;
  llvm::DenseMap<Value, CallOp> writer_; ///< Of buffers of the arena.
};

/// See Passes.td.
class FuseWeightGradientsPass
    : public divisi::impl::FuseWeightGradientsBase<FuseWeightGradientsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// Whether the call swaps the first two dimensions.
static bool swapsFirst(CallOp call) {
  auto order = call.getConfig().getAs<DenseI64ArrayAttr>("permutation");
  if (call.getCallee() != "nn.transpose" || !order || order.size() < 3 ||
      order[0] != 1 || order[1] != 0) {
    return false;
  }
  for (int64_t dim = 2; dim < order.size(); ++dim) {
    if (order[dim] != dim) {
      return false;
    }
  }
  return true;
}

void WeightGradients::index() {
  for (auto call : program_.getBody().getOps<CallOp>()) {
    for (Value buffer : call.getOutputs()) {
      if (buffer.getDefiningOp<AllocOp>()) {
        writer_[buffer] = call;
      }
    }
  }
}

/// Whether it is a buffer of the host's arena that one call writes, and one
/// reads.
static bool isBetweenTwo(Value buffer) {
  return buffer.getDefiningOp<AllocOp>() &&
         cast<BufferType>(buffer.getType()).isOnHost() &&
         llvm::range_size(buffer.getUses()) == 2;
}

/// The call that makes `buffer` by a swap, for one reader alone; null if none
/// does.
CallOp WeightGradients::swapOf(Value buffer) const {
  CallOp call = writer_.lookup(buffer);
  return call && isBetweenTwo(buffer) && swapsFirst(call) ? call : CallOp();
}

std::optional<Parts> WeightGradients::partsOf(CallOp conv) const {
  if (conv.getInputs().size() != 2 ||
      conv.getInputs()[0] == conv.getInputs()[1]) {
    return std::nullopt;
  }
  Parts parts;
  parts.conv = conv;
  parts.x = swapOf(conv.getInputs()[0]);
  parts.dy = swapOf(conv.getInputs()[1]);
  Value made = conv.getOutputs()[0];
  for (Operation *user : made.getUsers()) {
    auto call = dyn_cast<CallOp>(user);
    if (user != conv && call && swapsFirst(call) && isBetweenTwo(made)) {
      parts.result = call;
    }
  }
  return parts.x && parts.dy ? std::optional(parts) : std::nullopt;
}

/// The call of all of them, where the last one stands.
CallOp WeightGradients::makeCall(Parts parts) const {
  CallOp last = parts.all().back();
  OpBuilder builder(last);
  SmallVector<Value> inputs = {parts.x.getInputs()[0], parts.dy.getInputs()[0]};
  CallOp call =
      CallOp::create(builder, parts.conv.getLoc(), ExecDialect::kFused, inputs,
                     last.getOutputs(), builder.getDictionaryAttr({}));
  Block *block = builder.createBlock(&call.getBody());
  llvm::DenseMap<Value, Value> values;
  auto tensorOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  };
  for (Value input : inputs) {
    values[input] = block->addArgument(tensorOf(input), input.getLoc());
  }
  for (CallOp part : parts.all()) {
    OperationState state(part.getLoc(), part.getCallee());
    for (Value input : part.getInputs()) {
      state.operands.push_back(values.lookup(input));
    }
    Value output = part.getOutputs()[0];
    state.addTypes(tensorOf(output));
    state.addAttributes(part.getConfig().getValue());
    values[output] = builder.create(state)->getResult(0);
  }
  YieldOp::create(builder, last.getLoc(), values.lookup(last.getOutputs()[0]));
  return call;
}

int64_t WeightGradients::fuse() {
  index();
  int64_t count = 0;
  SmallVector<CallOp> convolutions;
  for (auto call : program_.getBody().getOps<CallOp>()) {
    if (call.getCallee() == "nn.conv") {
      convolutions.push_back(call);
    }
  }
  for (CallOp conv : convolutions) {
    std::optional<Parts> parts = partsOf(conv);
    if (!parts) {
      continue;
    }
    CallOp call = makeCall(*parts);
    if (!sites_.haveLibrary(call)) {
      call.erase();
      continue;
    }
    for (CallOp part : llvm::reverse(parts->all())) {
      Value output = part.getOutputs()[0];
      part.erase();
      if (output.use_empty()) {
        output.getDefiningOp()->erase();
      }
    }
    ++count;
  }
  return count;
}

void FuseWeightGradientsPass::runOnOperation() {
  FailureOr<int64_t> count = changeHostPrograms(
      getOperation(), [](ProgramOp program, const llvm::StringSet<> &updated) {
        return WeightGradients(program, updated).fuse();
      });
  if (failed(count)) {
    return signalPassFailure();
  }
  numFused += *count;
}
