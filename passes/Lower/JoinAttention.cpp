//===- JoinAttention.cpp - What one attention makes as one call -----------===//
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
#define GEN_PASS_DEF_JOINATTENTION
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Calls of one attention, in order; the operands of the first are all that
/// there are.
using Parts = SmallVector<CallOp, 3>;

/// Finds and joins those of one program.
class AttentionCalls {
public:
  AttentionCalls(ProgramOp program, const llvm::StringSet<> &updated)
      : program_(program), sites_(program, updated) {}

  /// Returns how many calls were made.
  int64_t join();

private:
  std::vector<Parts> find();
  CallOp makeCall(const Parts &parts) const;

  ProgramOp program_;
  CallSites sites_;
};

/// See Passes.td.
class JoinAttentionPass
    : public divisi::impl::JoinAttentionBase<JoinAttentionPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// What `call` says of its attention; what is not said means the same as what
/// is said by default.
static DictionaryAttr attentionOf(CallOp call) {
  NamedAttrList attributes(call.getConfig());
  attributes.erase("of");
  if (auto nan = dyn_cast_or_null<BoolAttr>(attributes.get("nan"));
      nan && !nan.getValue()) {
    attributes.erase("nan");
  }
  if (auto labels = dyn_cast_or_null<StringAttr>(attributes.get("labels"));
      labels && labels.getValue() == "bhsd,bhtd,bhte->bhse") {
    attributes.erase("labels");
  }
  return attributes.getDictionary(call.getContext());
}

/// The operands of an attention without its values: those of its logarithm.
static SmallVector<Value> withoutValues(CallOp attention) {
  SmallVector<Value> operands(attention.getInputs());
  operands.erase(operands.begin() + 2);
  return operands;
}

/// Whether `call` may be a part of what `first` begins.
static bool isAlike(CallOp first, CallOp call) {
  StringRef begins = first.getCallee(), callee = call.getCallee();
  if (attentionOf(first) != attentionOf(call)) {
    return false;
  }
  if (begins == "nn.attention") {
    return callee == "nn.attention_lse" &&
           llvm::equal(withoutValues(first), call.getInputs());
  }
  return begins == "nn.attention_gradient" && callee == begins &&
         first.getConfig().get("of") != call.getConfig().get("of") &&
         llvm::equal(first.getInputs(), call.getInputs());
}

/// Attentions with their logarithm, and gradients, in the program's order.
std::vector<Parts> AttentionCalls::find() {
  std::vector<Parts> found;
  for (auto call : program_.getBody().getOps<CallOp>()) {
    auto known = llvm::find_if(found, [&](const Parts &parts) {
      return isAlike(parts.front(), call) &&
             llvm::all_of(ArrayRef(parts).drop_front(), [&](CallOp part) {
               return part.getConfig() != call.getConfig();
             });
    });
    if (known != found.end()) {
      known->push_back(call);
    } else if (call.getCallee() == "nn.attention" ||
               call.getCallee() == "nn.attention_gradient") {
      found.push_back({call});
    }
  }
  llvm::erase_if(found, [](const Parts &parts) { return parts.size() == 1; });
  return found;
}

/// The call of all of them, where the first one stands, whose operands the
/// others have, too.
CallOp AttentionCalls::makeCall(const Parts &parts) const {
  CallOp first = parts.front();
  OpBuilder builder(first);
  SmallVector<Value> outputs;
  for (CallOp part : parts) {
    outputs.push_back(part.getOutputs()[0]);
  }
  CallOp call =
      CallOp::create(builder, first.getLoc(), ExecDialect::kFused,
                     first.getInputs(), outputs, builder.getDictionaryAttr({}));
  Block *block = builder.createBlock(&call.getBody());
  auto tensorOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  };
  for (Value input : first.getInputs()) {
    block->addArgument(tensorOf(input), input.getLoc());
  }
  SmallVector<Value> arguments(block->getArguments()), results;
  for (CallOp part : parts) {
    OperationState state(part.getLoc(), part.getCallee());
    state.addOperands(arguments);
    if (part.getInputs().size() < arguments.size()) {
      state.operands.erase(state.operands.begin() + 2); // the values
    }
    state.addTypes(tensorOf(part.getOutputs()[0]));
    state.addAttributes(part.getConfig().getValue());
    results.push_back(builder.create(state)->getResult(0));
  }
  YieldOp::create(builder, first.getLoc(), results);
  return call;
}

int64_t AttentionCalls::join() {
  int64_t count = 0;
  for (const Parts &parts : find()) {
    bool isOnHost = llvm::all_of(parts, [](CallOp part) {
      return part.getOutputs()[0].getDefiningOp<AllocOp>() &&
             cast<BufferType>(part.getOutputs()[0].getType()).isOnHost();
    });
    if (!isOnHost) {
      continue;
    }
    for (CallOp part : ArrayRef(parts).drop_front()) {
      part.getOutputs()[0].getDefiningOp()->moveBefore(parts.front());
    }
    CallOp call = makeCall(parts);
    if (!sites_.haveLibrary(call)) {
      call.erase();
      continue;
    }
    for (CallOp part : parts) {
      part.erase();
    }
    ++count;
  }
  return count;
}

void JoinAttentionPass::runOnOperation() {
  FailureOr<int64_t> count = changeHostPrograms(
      getOperation(), [](ProgramOp program, const llvm::StringSet<> &updated) {
        return AttentionCalls(program, updated).join();
      });
  if (failed(count)) {
    return signalPassFailure();
  }
  numJoined += *count;
}
