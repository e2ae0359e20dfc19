//===- Describe.cpp - How a report names what it speaks of ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"

#include "dialects/NN/Bodies.h"
#include "dialects/NN/Locations.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace divisi;

/// The module scope of `op`; of a collective, that of the operator which wants
/// its result or else made its operand. Empty if there is none.
static StringRef scopeOf(Operation *op) {
  for (Operation *next = op; next;) {
    if (auto scope = next->getAttrOfType<StringAttr>(nn::kScopeAttr)) {
      return scope.getValue();
    }
    Operation *first = nullptr;
    for (Operation *user : next->getUsers()) {
      if (!first || user->isBeforeInBlock(first)) {
        first = user;
      }
    }
    next = first;
  }
  Operation *maker =
      op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  auto scope =
      maker ? maker->getAttrOfType<StringAttr>(nn::kScopeAttr) : StringAttr();
  return scope ? scope.getValue() : StringRef();
}

ReportRow divisi::describe(Operation &op) {
  ReportRow row;
  op.getLoc()->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (named) {
      row.node = llvm::json::fixUTF8(named.getName().getValue());
    }
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  row.layer = llvm::json::fixUTF8(scopeOf(&op));
  row.op = op.getName().getStringRef().str();
  if (!row.isCollective()) { // which may be at the place of its operand
    for (const std::string &rule : nn::rulesOf(op.getLoc())) {
      row.rules.push_back(llvm::json::fixUTF8(rule));
    }
  }
  return row;
}

std::string divisi::entryOf(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (Operation *next = op; next && nn::isBody(function);) {
    next = nullptr;
    auto module = function->getParentOfType<ModuleOp>();
    module.walk([&](nn::LoopOp loop) {
      bool runs = loop.getBody() == function.getSymName();
      next = runs ? loop : next;
      return runs ? WalkResult::interrupt() : WalkResult::advance();
    });
    function = next ? next->getParentOfType<func::FuncOp>() : function;
  }
  return function.getSymName().str();
}

static std::string nameOr(Attribute name, const char *kind, unsigned index) {
  auto text = dyn_cast_or_null<StringAttr>(name);
  return text ? llvm::json::fixUTF8(text.getValue())
              : kind + std::to_string(index);
}

std::string divisi::argumentName(func::FuncOp entry, unsigned index) {
  return nameOr(entry.getArgAttr(index, "nn.name"), "input", index);
}

std::string divisi::resultName(func::FuncOp entry, unsigned index) {
  return nameOr(entry.getResultAttr(index, "nn.name"), "output", index);
}
