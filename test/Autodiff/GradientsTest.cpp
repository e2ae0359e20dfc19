//===- GradientsTest.cpp - Gradients and differences ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Each program is a function of floats. The number s, the sum of its result
// times random weights, is derived by every element of its arguments, and
// compared with (s(x + h) - s(x - h)) / 2h in f64; so are the gradients, of
// which the squares are summed: what they are made of has rules, too. The
// gradients in f32 are compared with those in f64.
//
//===----------------------------------------------------------------------===//

#include "test/Autodiff/AutodiffTest.h"

#include "GradientCases.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Gradients.h"
#include "divisi/Evaluate/Evaluator.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/Sample.h"
#include "gmock/gmock.h"

#include <random>
#include <set>

using namespace divisi;
using divisi::test::GradientCase;
using mlir::Value;

using Tensors = std::vector<rt::HostTensor>;

namespace {

class GradientsTest : public AutodiffTest {};

/// A program and its gradients.
class Derived {
public:
  Derived(mlir::MLIRContext &context, const GradientCase &program,
          const std::string &element, bool twice);

  /// The number that is derived.
  double number(const Tensors &arguments) {
    return run(arguments)[0].floatAt(0);
  }
  /// It, and its gradients by all arguments but the last.
  Tensors run(const Tensors &arguments);
  bool isGood() { return bool(module_); }
  /// Random elements.
  Tensors arguments(const GradientCase &program, uint64_t seed);

private:
  void derive(bool twice);
  Value total(mlir::OpBuilder &builder, Value x, Value weights);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
};

} // namespace

static std::string withElement(std::string text, const std::string &element) {
  for (size_t at = 0; (at = text.find("T>", at)) != std::string::npos;) {
    text.replace(at, 1, element);
  }
  return text;
}

Derived::Derived(mlir::MLIRContext &context, const GradientCase &program,
                 const std::string &element, bool twice) {
  std::string text = program.functions + "\nfunc.func @f(" + program.arguments +
                     ", %weights: " + program.result + ") -> " +
                     program.result + " {\n" + program.lines +
                     "\n return %r : " + program.result + "\n}";
  module_ = mlir::parseSourceString<mlir::ModuleOp>(withElement(text, element),
                                                    &context);
  if (module_) {
    function_ = module_->lookupSymbol<mlir::func::FuncOp>("f");
    derive(twice);
  }
}

Value Derived::total(mlir::OpBuilder &builder, Value x, Value weights) {
  mlir::Location loc = function_.getLoc();
  Value product = nn::MulOp::create(builder, loc, x, weights);
  llvm::SmallVector<int64_t> axes(nn::globalShape(x.getType()).size());
  std::iota(axes.begin(), axes.end(), 0);
  return nn::ReduceOp::create(builder, loc, product, "sum", axes);
}

void Derived::derive(bool twice) {
  mlir::Operation *end = function_.getBody().front().getTerminator();
  mlir::OpBuilder builder(end);
  llvm::SmallVector<Value> inputs(function_.getArguments().drop_back());
  Value weights = function_.getArguments().back(), y = end->getOperand(0);
  llvm::SmallVector<Value> results = {total(builder, y, weights)};
  auto gradients = makeGradients(builder, y, weights, inputs);
  if (mlir::succeeded(gradients) && twice) {
    Value sum;
    for (Value gradient : *gradients) {
      if (gradient) {
        Value part = total(builder, gradient, gradient);
        sum = sum ? nn::AddOp::create(builder, end->getLoc(), sum, part) : part;
      }
    }
    auto one = mlir::cast<mlir::RankedTensorType>(sum.getType());
    Value seed = nn::ConstantOp::create(
        builder, end->getLoc(),
        mlir::DenseElementsAttr::get(
            one, builder.getFloatAttr(one.getElementType(), 1)));
    results = {sum};
    gradients = makeGradients(builder, sum, seed, inputs);
  }
  if (mlir::failed(gradients)) {
    module_ = {};
    return;
  }
  for (auto [input, gradient] : llvm::zip_equal(inputs, *gradients)) {
    if (!gradient) { // it does not matter: nothing
      gradient = nn::SubOp::create(builder, end->getLoc(), input, input);
    }
    ASSERT_EQ(gradient.getType(), input.getType());
    results.push_back(gradient);
  }
  end->setOperands(results);
  function_.setFunctionType(builder.getFunctionType(
      function_.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  if (mlir::failed(mlir::verify(*module_))) {
    module_ = {};
  }
}

Tensors Derived::run(const Tensors &arguments) {
  GlobalStore store;
  GlobalValues globals(*module_, store);
  auto results = evaluateFunction(function_, arguments, globals);
  EXPECT_TRUE(results) << results.status().message();
  return *results;
}

Tensors Derived::arguments(const GradientCase &program, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensors tensors;
  for (mlir::Type type : function_.getArgumentTypes()) {
    auto shape = mlir::cast<mlir::RankedTensorType>(type).getShape();
    std::uniform_real_distribution<double> number(program.low, program.high);
    auto tensor =
        *rt::HostTensor::zeros(rt::DType::F32, {shape.begin(), shape.end()});
    for (float &x : tensor.as<float>()) {
      x = float(number(random));
    }
    tensors.push_back(*tensor.castTo(rt::DType::F64));
  }
  return tensors;
}

/// Compares the gradients with differences, each element of each argument.
static void compareWithDifferences(Derived &derived, const Tensors &at,
                                   double tolerance) {
  Tensors results = derived.run(at);
  for (size_t i = 0; i + 1 != at.size(); ++i) {
    double most = 1;
    for (double g : results[i + 1].toFloats()) {
      most = std::max(most, std::abs(g));
    }
    for (int64_t n = 0; n != at[i].count(); ++n) {
      constexpr double h = 1e-5;
      double numbers[2];
      for (int side : {0, 1}) {
        Tensors moved = at;
        moved[i] = *at[i].clone();
        moved[i].as<double>()[n] += side ? h : -h;
        numbers[side] = derived.number(moved);
      }
      EXPECT_NEAR(results[i + 1].floatAt(n), (numbers[1] - numbers[0]) / 2 / h,
                  tolerance * most)
          << "argument " << i << ", element " << n;
    }
  }
}

static void compareInF32(mlir::MLIRContext &context,
                         const GradientCase &program, const Tensors &at,
                         const Tensors &expected) {
  Derived narrow(context, program, "f32", false);
  ASSERT_TRUE(narrow.isGood());
  Tensors arguments;
  for (const rt::HostTensor &tensor : at) {
    arguments.push_back(*tensor.castTo(rt::DType::F32));
  }
  Tensors results = narrow.run(arguments);
  for (size_t i = 0; i != results.size(); ++i) {
    std::vector<double> want = expected[i].toFloats();
    double most = 1;
    for (double x : want) {
      most = std::max(most, std::abs(x));
    }
    for (size_t n = 0; n != want.size(); ++n) {
      EXPECT_NEAR(results[i].floatAt(int64_t(n)), want[n], 1e-4 * most);
    }
  }
}

TEST_F(GradientsTest, EqualDifferences) {
  std::vector<GradientCase> all = test::loopGradientCases();
  size_t loops = all.size();
  for (GradientCase &program : test::gradientCases()) {
    all.push_back(std::move(program));
  }
  int64_t derived = 0, twice = 0;
  std::vector<size_t> numbers(loops);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t number : test::sampleOf(all.size(), "gradients", 30)) {
    if (number >= loops) {
      numbers.push_back(number);
    }
  }
  for (size_t number : numbers) {
    const GradientCase &program = all[number];
    SCOPED_TRACE(program.op + "(" + program.arguments + "): " + program.lines);
    Derived once(context_, program, "f64", false);
    ASSERT_TRUE(once.isGood());
    Tensors at = once.arguments(program, number);
    compareWithDifferences(once, at, 1e-7);
    compareInF32(context_, program, at, once.run(at));
    Derived second(context_, program, "f64", true);
    ASSERT_TRUE(second.isGood());
    compareWithDifferences(second, at, 1e-5);
    ++derived;
    twice += second.isGood();
  }
  std::printf("%lld of %zu programs derived, %lld twice\n",
              static_cast<long long>(derived), all.size(),
              static_cast<long long>(twice));
}

// An operator that is new needs a rule with a program, or a place here.
TEST_F(GradientsTest, EveryOperatorHasItsPlace) {
  const std::set<std::string> zero = {
      "nn.sign", "nn.floor",      "nn.ceil",  "nn.round",  "nn.not",
      "nn.and",  "nn.or",         "nn.xor",   "nn.shift",  "nn.compare",
      "nn.iota", "nn.arg_reduce", "nn.top_k", "nn.is_nan", "nn.is_inf",
      "nn.read", "nn.constant",   "nn.random"};
  const std::set<std::string> missing = {
      "nn.global",
      "nn.update", // no values
      "nn.quantize",
      "nn.dequantize",
      "nn.add_dequantized",
      "nn.matmul_integer",
      "nn.conv_integer", // of quantized models
      "nn.loop",         // see loopGradientCases()
      "nn.if"};
  std::set<std::string> written;
  for (const GradientCase &program : test::gradientCases()) {
    written.insert(program.op);
  }
  int64_t count = 0;
  for (mlir::RegisteredOperationName name :
       context_.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "nn") {
      continue;
    }
    std::string text = name.getStringRef().str();
    GradientRule rule = gradientRuleOf(name);
    EXPECT_EQ(written.contains(text), rule == GradientRule::Known) << text;
    EXPECT_EQ(zero.contains(text), rule == GradientRule::Zero) << text;
    EXPECT_EQ(missing.contains(text), rule == GradientRule::Missing) << text;
    ++count;
  }
  EXPECT_EQ(count, int64_t(written.size() + zero.size() + missing.size()));
}

/// The gradients of a program of one argument, where all weights are 1.
static std::vector<double> gradientAt(mlir::MLIRContext &context,
                                      const GradientCase &program,
                                      rt::Dims dims, std::vector<double> x,
                                      rt::Dims results) {
  Derived derived(context, program, "f64", false);
  auto ones = *rt::HostTensor::zeros(rt::DType::F64, results);
  std::ranges::fill(ones.as<double>(), 1.0);
  auto at = *rt::HostTensor::copyOf(rt::DType::F64, dims,
                                    std::as_bytes(std::span(x)));
  return derived.run({at, ones})[1].toFloats();
}

// Where results do not change smoothly, as PyTorch has it.
TEST_F(GradientsTest, BordersAreAsInPyTorch) {
  using testing::ElementsAre;
  auto of = [&](const char *lines, rt::Dims dims, std::vector<double> x,
                rt::Dims results) {
    std::string from = "tensor<", to = from;
    for (int64_t d : dims) {
      from += std::to_string(d) + "x";
    }
    for (int64_t d : results) {
      to += std::to_string(d) + "x";
    }
    from += "T>", to += "T>";
    return gradientAt(context_,
                      {"", "%x: " + from,
                       std::string(lines) + " : (" + from + ") -> " + to, to},
                      dims, x, results);
  };
  EXPECT_THAT(of("%r = nn.relu %x", {3}, {-1, 0, 1}, {3}),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(of("%r = nn.abs %x", {3}, {-1, 0, 1}, {3}),
              ElementsAre(-1, 0, 1));
  EXPECT_THAT(of("%r = nn.reduce %x {kind = \"max\", axes = array<i64: 0>}",
                 {4}, {2, 1, 2, 0}, {}),
              ElementsAre(0.5, 0, 0.5, 0));
  EXPECT_THAT(of("%r = nn.reduce %x {kind = \"prod\", axes = array<i64: 0>}",
                 {3}, {2, 0, 5}, {}),
              ElementsAre(0, 10, 0));
  EXPECT_THAT(
      of("%r = nn.cumulate %x {axis = 0, kind = \"prod\", exclusive = false, "
         "reverse = false}",
         {3}, {2, 0, 5}, {3}),
      ElementsAre(1, 12, 0));
  EXPECT_THAT(of("%r = nn.pool_max %x {kernel = array<i64: 2>, strides = "
                 "array<i64: 1>, dilations = array<i64: 1>, pads_lo = "
                 "array<i64: 1>, pads_hi = array<i64: 0>}",
                 {3}, {1, 1, 0}, {3}),
              ElementsAre(2, 1, 0));
}

// Nothing is made for what is not asked for, or for what does not matter.
TEST_F(GradientsTest, OnlyWhatIsWantedIsMade) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    func.func @f(%x: tensor<2x3xf32>, %v: tensor<3x3xf32>, %w: tensor<3x4xf32>,
                 %u: tensor<4xf32>) -> tensor<2x4xf32> {
      %0 = nn.matmul %x, %v {labels = "bi,io->bo"}
          : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %1 = nn.matmul %0, %w {labels = "bi,io->bo"}
          : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %2 = nn.floor %u : (tensor<4xf32>) -> tensor<4xf32>
      %3 = nn.add %1, %2 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
      return %3 : tensor<2x4xf32>
    }
  )mlir",
                                                        &context_);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  mlir::Operation *end = function.getBody().front().getTerminator();
  mlir::OpBuilder builder(end);
  Value y = end->getOperand(0), w = function.getArgument(2);
  auto gradients = *makeGradients(builder, y, y, {w, function.getArgument(3)});
  ASSERT_TRUE(gradients[0]);
  EXPECT_FALSE(gradients[1]);
  // One product: by %w; none by what is in front of it.
  EXPECT_EQ(
      std::distance(++y.getDefiningOp()->getIterator(), end->getIterator()), 1);
}

// The scale is trained, and what it scales is not.
TEST_F(GradientsTest, OperatorsWithoutOneAreNamed) {
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context_, [&](mlir::Diagnostic &error) { message = error.str(); });
  auto isDerived = [&](const char *arguments, const char *lines) {
    GradientCase program{"", arguments, lines, "tensor<2xT>"};
    return Derived(context_, program, "f32", false).isGood();
  };
  EXPECT_FALSE(isDerived("%s: tensor<1xT>", R"(
      %0 = nn.constant dense<1> : tensor<2xi8>
      %r = nn.dequantize %0, %s {axis = 0, block = 1}
          : (tensor<2xi8>, tensor<1xT>) -> tensor<2xT>)"));
  EXPECT_EQ(message,
            "'nn.dequantize' op is of a quantized model, whose codes do not "
            "change smoothly: train the model as it was before, or freeze all "
            "that comes before this");
  EXPECT_FALSE(isDerived("%x: tensor<2xT>", R"(
      %i = nn.constant dense<1> : tensor<2xi64>
      %r = nn.scatter %x, %i, %x {batch_dims = 0, kind = "mul"}
          : (tensor<2xT>, tensor<2xi64>, tensor<2xT>) -> tensor<2xT>)"));
  EXPECT_EQ(message, "'nn.scatter' op of kind \"mul\" has no gradient; set and "
                     "add have one");
  EXPECT_FALSE(isDerived("%x: tensor<2xT>, %c: tensor<1xT>", R"(
      %r = nn.rotary %x, %c, %c {interleaved = true}
          : (tensor<2xT>, tensor<1xT>, tensor<1xT>) -> tensor<2xT>)"));
  EXPECT_EQ(message, "'nn.rotary' op has no gradient by its angles: freeze "
                     "what they are made of");
}
