//===- NN.cpp - The nn dialect --------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"

#include "dialects/NN/AttentionGradient.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Integer.h"
#include "dialects/NN/Nests.h"
#include "dialects/NN/Random.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/NN/NNBase.cpp.inc"

#include "dialects/NN/NNEnums.cpp.inc"

#include "dialects/NN/NNInterfaces.cpp.inc"

#include "dialects/NN/NNAttrInterfaces.cpp.inc"

// `nn.constant dense<1.0> : tensor<4xf32>`, and on a box of it
// `nn.constant dense<1.0> : tensor<4xf32> -> tensor<2xf32, #...>`.
static ParseResult parseConstantValue(OpAsmParser &parser, ElementsAttr &value,
                                      Type &type) {
  if (parser.parseAttribute(value)) {
    return failure();
  }
  type = value.getType();
  if (succeeded(parser.parseOptionalArrow())) {
    return parser.parseType(type);
  }
  return success();
}

static void printConstantValue(OpAsmPrinter &printer, Operation *,
                               ElementsAttr value, Type type) {
  printer << value;
  if (type != value.getType()) {
    printer << " -> " << type;
  }
}

#define GET_TYPEDEF_CLASSES
#include "dialects/NN/NNTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.cpp.inc"

void divisi::nn::NNDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/NN/NNTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNBodies.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNInteger.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNRandom.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNAttentionGradient.cpp.inc"
      >();
  unflattenScales(*getContext());
}
