//===- ApplyTest.cpp - Every rule, where it stands and where not ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of every rule that is proved, and by which something can take less, a module
// is made at sizes drawn at random: its source. Applied there, its target
// stands and computes the same by the reference kernels. And nothing is applied
// where a condition does not hold, a weight is none, others read what is
// inside, or at ranks at which it is not proved.
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Effort.h"

#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/GraphBuilder.h"
#include "divisi/Rules/SampleTensors.h"
#include "divisi/Rules/Shipped.h"
#include "test/Sample.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::rewrite;
using rt::HostTensor;

namespace {

/// How a module differs from one where the rule is applied.
struct Twist {
  bool areWeightsGiven = false; ///< Weights and constants are inputs.
  bool isInsideRead = false;    ///< The first node is returned, too.
};

/// The source of a rule at an assignment, as a module.
class Made {
public:
  Made(mlir::MLIRContext &context, const Rule &rule,
       const Assignment &assignment, const TypeChoice &types, Twist twist,
       std::mt19937_64 &random);

  bool isLegal() const { return isLegal_; }
  mlir::func::FuncOp function() {
    return *module_->getOps<mlir::func::FuncOp>().begin();
  }
  int64_t apply(const ProvedRule &proved, const std::vector<Rule> &axioms);
  std::vector<HostTensor> evaluate();
  /// How often each operator that takes operands stands there.
  std::map<std::string, int> operators();

private:
  mlir::Value add(const Variable &variable, const TensorForm &form,
                  bool isGiven, std::mt19937_64 &random);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::OpBuilder builder_;
  mlir::Block *block_ = nullptr;
  std::vector<HostTensor> inputs_;
  std::map<std::string, HostTensor> globals_;
  bool isLegal_ = false;
};

} // namespace

mlir::Value Made::add(const Variable &variable, const TensorForm &form,
                      bool isGiven, std::mt19937_64 &random) {
  mlir::Location location = builder_.getUnknownLoc();
  mlir::RankedTensorType type = toMLIR(builder_.getContext(), form);
  auto tensor = drawTensor(form, Distribution::Normal, random);
  if (variable.type.element == "i64") {
    for (int64_t &index : tensor->as<int64_t>()) {
      index = -(index & 1); // of a dim of any extent
    }
  }
  if (variable.kind == VariableKind::Activation || isGiven) {
    inputs_.push_back(*tensor);
    return block_->addArgument(type, location);
  }
  if (variable.kind == VariableKind::Constant) {
    return nn::ConstantOp::create(builder_, location, type,
                                  toDenseAttr(builder_.getContext(), *tensor));
  }
  mlir::OpBuilder::InsertionGuard guard(builder_);
  mlir::Operation *read =
      nn::ReadOp::create(builder_, location, type, variable.name);
  builder_.setInsertionPointToStart(module_->getBody());
  mlir::OperationState state(location, "nn.global");
  state.addAttribute("sym_name", builder_.getStringAttr(variable.name));
  state.addAttribute("kind",
                     nn::GlobalKindAttr::get(builder_.getContext(),
                                             nn::GlobalKind::Parameter));
  state.addAttribute("type", mlir::TypeAttr::get(type));
  builder_.create(state);
  globals_.emplace(variable.name, *tensor);
  return read->getResult(0);
}

Made::Made(mlir::MLIRContext &context, const Rule &rule,
           const Assignment &assignment, const TypeChoice &types, Twist twist,
           std::mt19937_64 &random)
    : builder_(&context) {
  mlir::Location location = builder_.getUnknownLoc();
  module_ = mlir::ModuleOp::create(location);
  builder_.setInsertionPointToEnd(module_->getBody());
  auto function = mlir::func::FuncOp::create(builder_, location, "forward",
                                             builder_.getFunctionType({}, {}));
  block_ = function.addEntryBlock();
  builder_.setInsertionPointToEnd(block_);
  auto forms = Instantiator::variables(rule, assignment, types);
  if (!forms) {
    return;
  }
  llvm::SmallVector<mlir::Value> variables;
  for (size_t i = 0; i != forms->size(); ++i) {
    variables.push_back(
        add(rule.variables[i], (*forms)[i], twist.areWeightsGiven, random));
  }
  GraphBuilder graph(builder_, location, assignment, types);
  auto source = graph.run(rule, rule.source, variables);
  if (!source) {
    return;
  }
  llvm::SmallVector<mlir::Value> results;
  for (size_t number : source->results) {
    results.push_back(graph.value(number));
  }
  if (twist.isInsideRead) {
    results.push_back(graph.operators().front()->getResult(0));
  }
  mlir::func::ReturnOp::create(builder_, location, results);
  function.setType(builder_.getFunctionType(
      block_->getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  isLegal_ = mlir::succeeded(mlir::verify(*module_));
}

int64_t Made::apply(const ProvedRule &proved, const std::vector<Rule> &axioms) {
  nn::KnownValues known(*module_);
  int64_t count =
      RuleApplier({proved}, axioms, known).run(function(), [](const Place &) {
      });
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module_)));
  return count;
}

std::vector<HostTensor> Made::evaluate() {
  GlobalStore store;
  GlobalValues globals(*module_, store);
  for (const auto &[name, value] : globals_) {
    globals.write(name, value);
  }
  auto results = evaluateFunction(function(), inputs_, globals);
  EXPECT_TRUE(results) << results.status().message();
  return results ? *results : std::vector<HostTensor>();
}

std::map<std::string, int> Made::operators() {
  std::map<std::string, int> counts;
  function().walk([&](nn::LoopInterface op) {
    counts[op->getName().getStringRef().str()] += op->getNumOperands() != 0;
  });
  std::erase_if(counts, [](const auto &entry) { return entry.second == 0; });
  return counts;
}

namespace {

/// One rule, without a choice of operators, in all its cases.
class RuleTrial {
public:
  RuleTrial(const ProvedRule &proved, const std::vector<Rule> &axioms)
      : proved_(proved), axioms_(axioms), types_(typeChoices(proved.rule)[0]) {
    for (auto &[word, type] : types_) {
      type = type == rt::DType::Field ? rt::DType::F32 : type;
    }
    context_.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  }

  void run();

  size_t applied = 0;
  size_t near = 0; ///< Cases in which a condition alone does not hold.

private:
  Made make(const Rule &rule, const Assignment &assignment, Twist twist = {}) {
    return Made(context_, rule, assignment, types_, twist, random_);
  }
  std::optional<Assignment> drawCase(const Ranks &ranks, Draw kind);
  bool takesLess(const Assignment &assignment, bool isFirstKept = false);
  void runWhereItStands(const Assignment &assignment);
  void runNearMisses(const Assignment &assignment);
  void runWithout(size_t condition);

  const ProvedRule &proved_;
  const std::vector<Rule> &axioms_;
  TypeChoice types_;
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  Instantiator instantiator_;
  std::mt19937_64 random_{7};
};

} // namespace

bool RuleTrial::takesLess(const Assignment &assignment, bool isFirstKept) {
  const Rule &rule = proved_.rule;
  auto forms = Instantiator::variables(rule, assignment, types_);
  if (!forms) {
    return false;
  }
  auto source =
      instantiator_.instantiate(rule, rule.source, *forms, assignment, types_);
  auto target =
      instantiator_.instantiate(rule, rule.target, *forms, assignment, types_);
  std::vector<bool> known;
  for (const Variable &variable : rule.variables) {
    known.push_back(variable.kind != VariableKind::Activation);
  }
  std::vector<bool> kept(rule.source.nodes.size());
  kept[0] = isFirstKept;
  return source && target &&
         divisi::rewrite::takesLess(*target, *source, known, kept);
}

void RuleTrial::runWhereItStands(const Assignment &assignment) {
  const Rule &rule = proved_.rule;
  Made made = make(rule, assignment);
  ASSERT_TRUE(made.isLegal());
  std::vector<HostTensor> before = made.evaluate();
  EXPECT_EQ(made.apply(proved_, axioms_), 1);
  std::map<std::string, int> target;
  for (const Node &node : rule.target.nodes) {
    target["nn." + node.op] += !node.op.empty();
  }
  target.erase("nn.");
  EXPECT_EQ(made.operators(), target);
  std::vector<HostTensor> after = made.evaluate();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i != before.size(); ++i) {
    auto difference = compare(before[i], after[i],
                              rule.numericClass == NumericClass::BitExact
                                  ? Tolerance::Exact
                                  : Tolerance::Rounding);
    EXPECT_FALSE(difference)
        << difference->source << ", " << difference->target;
  }
  ++applied;
}

void RuleTrial::runNearMisses(const Assignment &assignment) {
  const Rule &rule = proved_.rule;
  bool hasWeights = false;
  for (const Variable &variable : rule.variables) {
    hasWeights |= variable.kind != VariableKind::Activation;
  }
  if (hasWeights) {
    EXPECT_EQ(make(rule, assignment, {.areWeightsGiven = true})
                  .apply(proved_, axioms_),
              0);
  }
  const Node &first = rule.source.nodes.front();
  bool isInside =
      std::find(rule.source.results.begin(), rule.source.results.end(),
                first.name) == rule.source.results.end();
  if (isInside && !first.op.empty()) {
    EXPECT_EQ(
        make(rule, assignment, {.isInsideRead = true}).apply(proved_, axioms_),
        takesLess(assignment, true));
  }
  ProvedRule nowhere{rule, {}};
  EXPECT_EQ(make(rule, assignment).apply(nowhere, axioms_), 0);
}

/// The relation that holds where `relation` does not, or one that implies it.
static Relation opposite(Relation relation) {
  switch (relation) {
  case Relation::Eq:
    return Relation::Ne;
  case Relation::Lt:
    return Relation::Ge;
  case Relation::Le:
    return Relation::Gt;
  case Relation::Gt:
    return Relation::Le;
  case Relation::Ge:
    return Relation::Lt;
  case Relation::Ne:
  case Relation::Divides:
  case Relation::Broadcasts:
    return Relation::Eq;
  }
  return relation;
}

/// All but one condition hold: if there is such a source, it stays.
void RuleTrial::runWithout(size_t condition) {
  Rule rule = proved_.rule;
  Condition &turned = rule.conditions[condition];
  if (turned.relation == Relation::Divides ||
      turned.relation == Relation::Broadcasts) {
    return;
  }
  turned.relation = opposite(turned.relation);
  constexpr int attempts = 20;
  for (const Ranks &ranks : proved_.ranks) {
    for (int i = 0; i != attempts; ++i) {
      auto assignment = draw(rule, ranks, Draw::Any, random_);
      if (!assignment) {
        break;
      }
      Made made = make(rule, *assignment);
      if (made.isLegal()) {
        EXPECT_EQ(made.apply(proved_, axioms_), 0) << print(*assignment);
        ++near;
      }
    }
  }
}

/// Sizes at which the rule is applied.
std::optional<Assignment> RuleTrial::drawCase(const Ranks &ranks, Draw kind) {
  constexpr int attempts = 20;
  for (int i = 0; i != attempts; ++i) {
    auto assignment = draw(proved_.rule, ranks, kind, random_);
    if (assignment && takesLess(*assignment) &&
        make(proved_.rule, *assignment).isLegal()) {
      return assignment;
    }
  }
  return std::nullopt;
}

void RuleTrial::run() {
  constexpr Draw kinds[] = {Draw::Distinct, Draw::Any, Draw::Tiny, Draw::Large};
  for (const Ranks &ranks : proved_.ranks) {
    for (Draw kind : kinds) {
      std::optional<Assignment> assignment = drawCase(ranks, kind);
      if (!assignment) {
        continue;
      }
      SCOPED_TRACE(proved_.rule.name + " at " + print(*assignment));
      runWhereItStands(*assignment);
      if (kind == Draw::Any) {
        runNearMisses(*assignment);
      }
    }
  }
  for (size_t i = 0; i != proved_.rule.conditions.size(); ++i) {
    runWithout(i);
  }
}

TEST(ApplyTest, EveryRuleWhereItStandsAndWhereItDoesNot) {
  auto proved = provedRules();
  auto axioms = shippedAxioms();
  ASSERT_TRUE(proved && axioms);
  auto chosen = chooseRules(*proved, {});
  ASSERT_TRUE(chosen) << chosen.status().message();
  ASSERT_GE(chosen->size(), 20u);
  size_t applied = 0, near = 0;
  *chosen = test::sampleOf(*chosen, "applied rules");
  for (const ProvedRule &each : *chosen) {
    RuleTrial trial(each, *axioms);
    trial.run();
    EXPECT_GT(trial.applied, 0u) << each.rule.name;
    applied += trial.applied;
    near += trial.near;
  }
  printf("counted: applied rules: %zu, at %zu places; not where a condition "
         "does not hold: %zu\n",
         chosen->size(), applied, near);
}

TEST(ApplyTest, ChoosesRulesByName) {
  auto proved = provedRules();
  ASSERT_TRUE(proved);
  auto chosen = chooseRules(*proved, {"relu-of-relu", "transposes-cancel"});
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->size(), 2u);
  EXPECT_EQ(chosen->front().rule.name, "relu-of-relu");
  EXPECT_EQ(chooseRules(*proved, {"none"}).status().message(),
            "'none' is not a proved rule; docs/rules.md lists those that are");
  EXPECT_EQ(
      chooseRules(*proved, {"activate-before-transposing"}).status().message(),
      "the rule 'activate-before-transposing' would loop: at no sizes that "
      "were tried its target takes less than its source");
}
