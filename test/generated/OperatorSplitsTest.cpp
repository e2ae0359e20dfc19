//===- OperatorSplitsTest.cpp - Every operator, split in every way --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every function of Inputs/: every strategy with the layouts that it
// derives, and with random ones that need conversion, on 2, 3 and 4 devices,
// against the reference kernels on whole tensors. Of one function at most 200
// are tried, and a share of these in a sample (test/Sample.h).
//
//===----------------------------------------------------------------------===//

#include "OperatorCases.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Compiler/CompareTensors.h"
#include "divisi/Compiler/Registration.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/Compiler/Execute.h"

#include "test/Sample.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

using namespace mlir;
using namespace divisi;

static size_t casesPerOperator() { return test::sampleSize<size_t>(200); }

/// Any elements of the field.
static rt::HostTensor randomElements(RankedTensorType type,
                                     std::mt19937 &random) {
  auto made =
      rt::HostTensor::zeros(rt::DType::Field, rt::Dims(type.getShape()));
  for (rt::FieldElement &element : made->as<rt::FieldElement>()) {
    uint64_t high = random();
    element = rt::FieldElement(high << 32 | random());
  }
  return *made;
}

/// Values of argument `index`, inside its `test.range` if it has one.
static rt::HostTensor randomArgument(func::FuncOp function, unsigned index,
                                     std::mt19937 &random) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  auto range =
      function.getArgAttrOfType<DenseI64ArrayAttr>(index, "test.range");
  int64_t lo = range ? range[0] : -2, hi = range ? range[1] : 2;
  std::uniform_int_distribution<int64_t> whole(lo, hi);
  std::uniform_real_distribution<float> real(lo, hi);
  rt::DType wanted = *fromMLIRType(type.getElementType());
  if (wanted == rt::DType::Field && !range) {
    return randomElements(type, random);
  }
  bool isFloat = rt::isFloatType(wanted);
  auto made = rt::HostTensor::zeros(isFloat ? rt::DType::F64 : rt::DType::I64,
                                    rt::Dims(type.getShape()));
  for (int64_t i = 0; i < made->count(); ++i) {
    if (isFloat) {
      made->as<double>()[i] = real(random);
    } else {
      made->as<int64_t>()[i] = whole(random);
    }
  }
  return *made->castTo(wanted);
}

/// Replaces f32 by `element` all over `function`; sums of bf16 stay f32. False
/// if its operator does not take that type.
static bool retype(func::FuncOp function, Type element) {
  auto convert = [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getElementType().isF32() ? tensor.clone(element) : type;
  };
  bool hasF32 = false;
  function.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      hasF32 |= getElementTypeOrSelf(result.getType()).isF32();
      bool accumulates =
          op->hasTrait<nn::AccumulatedType>() && element.isBF16();
      result.setType(accumulates ? result.getType()
                                 : convert(result.getType()));
    }
  });
  for (BlockArgument argument : function.getArguments()) {
    hasF32 |= getElementTypeOrSelf(argument.getType()).isF32();
    argument.setType(convert(argument.getType()));
  }
  SmallVector<Type> results(
      function.getBody().front().getTerminator()->getOperandTypes());
  function.setType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), results));
  ScopedDiagnosticHandler quiet(function.getContext(),
                                [](Diagnostic &) { return success(); });
  return hasF32 && succeeded(verify(function));
}

namespace {

class OperatorSplits : public testing::TestWithParam<size_t> {};

/// The functions of the files in Inputs/, parsed once, and the same over other
/// element types.
class Operators {
public:
  Operators() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects();
    for (const char *name :
         {"/attention.mlir", "/attention-gradient.mlir", "/elementwise.mlir",
          "/integers.mlir", "/structured.mlir"}) {
      modules.push_back(parseSourceFile<ModuleOp>(
          std::string(DIVISI_OPERATORS) + name, &context));
      llvm::append_range(functions, modules.back()->getOps<func::FuncOp>());
    }
    Builder builder(&context);
    std::vector<func::FuncOp> originals = functions;
    numOriginals = originals.size();
    for (Type element :
         {Type(builder.getBF16Type()), Type(builder.getF16Type()),
          Type(builder.getF64Type()), Type(builder.getI64Type()),
          Type(builder.getIntegerType(8, /*isSigned=*/false)),
          Type(builder.getIntegerType(4)),
          Type(builder.getType<Float8E4M3FNType>()),
          Type(builder.getType<nn::FieldType>())}) {
      for (func::FuncOp original : originals) {
        addRetyped(original, element);
      }
    }
  }

  /// `original` over `element`, if its operator takes that.
  void addRetyped(func::FuncOp original, Type element) {
    auto copy = cast<func::FuncOp>(original->clone());
    std::string name;
    llvm::raw_string_ostream(name) << original.getSymName() << "_"
                                   << rt::stringify(*fromMLIRType(element));
    copy.setSymName(name);
    if (retype(copy, element)) {
      retyped.push_back(copy);
      functions.push_back(copy);
    } else {
      copy->erase();
    }
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<OwningOpRef<func::FuncOp>> retyped;
  std::vector<func::FuncOp> functions;
  size_t numOriginals = 0; ///< They stand first in `functions`.
};

} // namespace

/// How many cases have been tried, for the last line.
static size_t &numCases() {
  static size_t count = 0;
  return count;
}

static Operators &operators() {
  static Operators instance;
  return instance;
}

TEST_P(OperatorSplits, EqualOneDevice) {
  func::FuncOp function = operators().functions[GetParam()];
  LoopNest nest = cast<nn::LoopInterface>(operatorOf(function)).getLoopNest();
  std::mt19937 random(GetParam() + 1);
  std::vector<rt::HostTensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    inputs.push_back(randomArgument(function, i, random));
  }
  auto expected = evaluateOnHost(function, inputs);
  ASSERT_TRUE(expected) << expected.status().message();

  // Other types differ in kernels and combining, not in what is cut how.
  bool isRetyped = GetParam() >= operators().numOriginals;
  size_t limit = casesPerOperator();
  std::vector<OperatorCase> cases =
      makeCases(function, isRetyped ? std::max<size_t>(1, limit / 10) : limit,
                GetParam() + 1);
  ASSERT_FALSE(cases.empty());
  for (const OperatorCase &planned : cases) {
    ++numCases();
    SCOPED_TRACE(function.getSymName().str() + " " + planned.str(nest));
    CompileOptions options;
    options.report = false;
    Compilation compilation(options, makePlannedModule(function, planned),
                            Stage::Plan);
    Status status = compilation.advanceTo(Stage::Lower);
    ASSERT_TRUE(status.isOk()) << status.message();
    auto got = runByReference(compilation, function.getSymName().str(), inputs);
    ASSERT_TRUE(got) << got.status().message();
    ASSERT_EQ(got->size(), 1u);
    Comparison comparison = compareTensors((*got)[0], (*expected)[0]);
    ASSERT_TRUE(comparison.equal) << comparison.message;
  }
}

namespace {

/// Says at the end how much was tried, and fails if nothing was.
class Summary : public testing::Environment {
public:
  void TearDown() override {
    std::cout << "counted: generated: " << numCases() << " cases of "
              << operators().functions.size() << " functions\n";
    EXPECT_GT(numCases(), 0u);
  }
};

} // namespace

static const testing::Environment *const kSummary =
    testing::AddGlobalTestEnvironment(new Summary);

TEST(OperatorCases, HasAFunctionOfEveryOperator) {
  std::set<std::string> tested;
  for (func::FuncOp function : operators().functions) {
    tested.insert(operatorOf(function)->getName().getStringRef().str());
  }
  // What has no loops to split, or is no computation.
  const std::set<std::string> exempt = {"nn.global",   "nn.read", "nn.update",
                                        "nn.constant", "nn.loop", "nn.if"};
  for (RegisteredOperationName name :
       operators().context.getRegisteredOperationsByDialect("nn")) {
    std::string text = name.getStringRef().str();
    EXPECT_TRUE(tested.count(text) || exempt.count(text)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , OperatorSplits, testing::Range<size_t>(0, operators().functions.size()),
    [](const testing::TestParamInfo<size_t> &info) {
      return operators().functions[info.param].getSymName().str();
    });
