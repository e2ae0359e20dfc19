//===- EqualitySaturation.cpp - All that rules reach, at once -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/EqualitySaturation.h"

#include "dialects/NN/Locations.h"
#include "divisi/Cost/Fusion.h"
#include "divisi/Optimize/Segments.h"
#include "lib/Optimize/Saturation.h"
#include "lib/Optimize/Tidy.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::optimize;
using mlir::Operation;
using mlir::Value;

namespace {

/// The extraction problem of an e-graph, and programs of its answers.
class Extractor {
public:
  Extractor(const EGraph &graph, const DeviceKind &kind)
      : graph_(graph), pace_(kind) {
    for (Value argument : graph.arguments()) {
      arguments_.insert(graph.classOf(argument));
    }
    for (Value root : graph.roots()) {
      problem_.roots.push_back(number(root));
    }
    while (!open_.empty()) {
      fill(open_.pop_back_val());
    }
  }

  const ExtractionProblem &problem() const { return problem_; }
  FoundProgram program(mlir::ModuleOp source, const Extraction &answer,
                       const std::vector<rewrite::ProvedRule> &rules) const;

private:
  uint32_t number(Value value);
  uint32_t number(Operation *tuple);
  void fill(uint32_t index);
  ExtractionNode nodeOf(Operation *op);
  int64_t priceOf(Operation *op);
  std::optional<unsigned> fusedOperand(nn::LoopInterface op);
  const LoopNest &nestOf(nn::LoopInterface op);

  const EGraph &graph_;
  GridPace pace_;
  Grid grid_;
  ExtractionProblem problem_;
  /// Of each class of the problem: a class of the graph, or an operator of
  /// several results, which are of classes of their own.
  std::vector<llvm::PointerUnion<Value, Operation *>> classes_;
  llvm::DenseSet<Value> arguments_;
  llvm::DenseMap<Value, uint32_t> values_;
  llvm::DenseMap<Operation *, uint32_t> tuples_;
  llvm::SmallVector<uint32_t> open_;
  std::map<Operation *, LoopNest> nests_;
};

} // namespace

uint32_t Extractor::number(Value value) {
  value = graph_.classOf(value);
  auto [at, isNew] = values_.try_emplace(value, uint32_t(classes_.size()));
  if (isNew) {
    open_.push_back(at->second);
    classes_.push_back(value);
  }
  return at->second;
}

uint32_t Extractor::number(Operation *tuple) {
  auto [at, isNew] = tuples_.try_emplace(tuple, uint32_t(classes_.size()));
  if (isNew) {
    open_.push_back(at->second);
    classes_.push_back(tuple);
  }
  return at->second;
}

void Extractor::fill(uint32_t index) {
  std::vector<ExtractionNode> nodes;
  if (auto *tuple = llvm::dyn_cast<Operation *>(classes_[index])) {
    nodes.push_back(nodeOf(tuple));
  } else if (arguments_.contains(llvm::cast<Value>(classes_[index]))) {
    nodes.push_back({});
  } else {
    for (Operation *op : graph_.nodesOf(llvm::cast<Value>(classes_[index]))) {
      nodes.push_back(op->getNumResults() == 1
                          ? nodeOf(op)
                          : ExtractionNode{0, {number(op)}});
    }
  }
  problem_.classes.resize(classes_.size());
  problem_.classes[index] = std::move(nodes);
}

ExtractionNode Extractor::nodeOf(Operation *op) {
  ExtractionNode node{priceOf(op), {}};
  for (Value operand : op->getOperands()) {
    uint32_t child = number(operand);
    if (!llvm::is_contained(node.children, child)) {
      node.children.push_back(child);
    }
  }
  return node;
}

const LoopNest &Extractor::nestOf(nn::LoopInterface op) {
  auto at = nests_.find(op);
  return at == nests_.end() ? nests_.emplace(op, op.getLoopNest()).first->second
                            : at->second;
}

/// The first operand in whose kernel it could be.
std::optional<unsigned> Extractor::fusedOperand(nn::LoopInterface op) {
  for (unsigned i = 0; i != op->getNumOperands(); ++i) {
    for (Operation *node : graph_.nodesOf(op->getOperand(i))) {
      auto maker = llvm::dyn_cast<nn::LoopInterface>(node);
      if (!maker || node->getNumResults() != 1 || !asComputed(*node, graph_)) {
        continue;
      }
      const LoopNest &nest = nestOf(maker);
      if (fuses(nest, 0, nestOf(op), i) &&
          !profileOf(maker).isView(nest, grid_, Split::replicated(nest))) {
        return i;
      }
    }
  }
  return std::nullopt;
}

/// As if what could fuse it did, which only a whole program can say.
int64_t Extractor::priceOf(Operation *op) {
  nn::LoopInterface loops = asComputed(*op, graph_);
  if (!loops) {
    return 0;
  }
  FusedEnds fused;
  if (auto operand = pace_.fuses() ? fusedOperand(loops) : std::nullopt) {
    fused.operands = {*operand};
  }
  const LoopNest &nest = nestOf(loops);
  return opNanoseconds(nest, grid_, Split::replicated(nest), profileOf(loops),
                       pace_, fused);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// Writes one answer down.
class Writer {
public:
  Writer(const EGraph &graph, const std::vector<rewrite::ProvedRule> &rules,
         mlir::ModuleOp module, llvm::function_ref<Operation *(Value)> chosen)
      : graph_(graph), rules_(rules), body_(functionOf(module).front()),
        builder_(body_.getTerminator()), chosen_(chosen) {}

  std::vector<RuleStep> run();

private:
  Value write(Value value);
  void addRules(Operation *node, std::vector<std::string> &rules,
                llvm::SmallPtrSetImpl<Operation *> &seen) const;
  void addSteps(Operation *node);
  void addStep(const Origin &origin);

  const EGraph &graph_;
  const std::vector<rewrite::ProvedRule> &rules_;
  mlir::Block &body_;
  mlir::OpBuilder builder_;
  llvm::function_ref<Operation *(Value)> chosen_;
  mlir::IRMapping map_;
  std::vector<RuleStep> steps_;
  llvm::DenseMap<Value, Value> arguments_; ///< By class.
  llvm::SmallPtrSet<Operation *, 16> seen_;
  std::set<std::pair<size_t, std::vector<Operation *>>> origins_;
};

} // namespace

/// Adds the rules that led to the node, in their order.
void Writer::addRules(Operation *node, std::vector<std::string> &rules,
                      llvm::SmallPtrSetImpl<Operation *> &seen) const {
  if (!seen.insert(node).second) {
    return;
  }
  const Origin *origin = graph_.originOf(node);
  if (!origin) {
    llvm::append_range(rules, nn::rulesOf(node->getLoc()));
    return;
  }
  for (Operation *source : origin->source) {
    addRules(source, rules, seen);
  }
  rules.push_back(rules_[origin->rule].rule.name);
}

/// Notes how the node came to be: what its rule matched first.
void Writer::addSteps(Operation *node) {
  if (!seen_.insert(node).second) {
    return;
  }
  if (const Origin *origin = graph_.originOf(node)) {
    addStep(*origin);
  }
}

void Writer::addStep(const Origin &origin) {
  for (Operation *source : origin.source) {
    addSteps(source);
  }
  if (origins_.insert({origin.rule, origin.source}).second) {
    steps_.push_back({origin.rule, origin.results});
  }
}

Value Writer::write(Value value) {
  Value stands = graph_.classOf(value);
  Operation *node = arguments_.contains(stands) ? nullptr : chosen_(stands);
  // Why it is what was asked for: an argument, or a result of the node.
  Value made = node ? *llvm::find_if(node->getResults(),
                                     [&](Value result) {
                                       return graph_.classOf(result) == stands;
                                     })
                    : arguments_.lookup(stands);
  graph_.explain(value, made, [&](const Origin &origin) { addStep(origin); });
  if (Value there = map_.lookupOrNull(stands)) {
    return there;
  }
  for (Value operand : graph_.operandsOf(node)) {
    Value written = write(operand);
    map_.map(graph_.classOf(operand), written);
  }
  Operation *copy = builder_.clone(*node, map_);
  for (auto [result, copied] :
       llvm::zip_equal(node->getResults(), copy->getResults())) {
    map_.map(graph_.classOf(result), Value(copied));
  }
  std::vector<std::string> rules;
  llvm::SmallPtrSet<Operation *, 8> seen;
  addRules(node, rules, seen);
  copy->setLoc(nn::withRules(node->getLoc(), rules));
  addSteps(node);
  return map_.lookup(stands);
}

std::vector<RuleStep> Writer::run() {
  for (auto [argument, there] :
       llvm::zip_equal(graph_.arguments(), body_.getArguments())) {
    map_.map(graph_.classOf(argument), Value(there));
    arguments_[graph_.classOf(argument)] = argument;
  }
  Operation *end = body_.getTerminator();
  llvm::SmallVector<Operation *> old;
  for (Operation &op : body_.without_terminator()) {
    old.push_back(&op);
  }
  llvm::SmallVector<Value> results;
  for (Value root : graph_.roots()) {
    results.push_back(write(root));
  }
  end->setOperands(results);
  for (Operation *op : llvm::reverse(old)) {
    op->erase();
  }
  return std::move(steps_);
}

FoundProgram
Extractor::program(mlir::ModuleOp source, const Extraction &answer,
                   const std::vector<rewrite::ProvedRule> &rules) const {
  FoundProgram program;
  program.module = source.clone();
  auto chosen = [&](Value value) {
    uint32_t index = values_.lookup(value);
    return graph_.nodesOf(value)[*answer.choice[index]];
  };
  program.steps = Writer(graph_, rules, *program.module, chosen).run();
  return program;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

struct EqualitySaturation::Impl {
  rewrite::SiteFinder &sites;
  const std::vector<rewrite::ProvedRule> &rules;
  const DeviceKind &kind;
  const SaturationLimits limits;
  Tidy tidy;
};

EqualitySaturation::EqualitySaturation(
    mlir::MLIRContext *context, rewrite::SiteFinder &sites,
    const std::vector<rewrite::ProvedRule> &rules, const DeviceKind &kind,
    SaturationLimits limits)
    : impl_(new Impl{sites, rules, kind, limits, Tidy(context)}) {}
EqualitySaturation::~EqualitySaturation() = default;

Expected<SearchResult> EqualitySaturation::run(mlir::ModuleOp source) {
  Impl &impl = *impl_;
  nn::KnownValues known(source);
  SearchResult result;
  auto add = [&](FoundProgram program) {
    Status status = impl.tidy.run(*program.module);
    if (!status.isOk()) {
      return status;
    }
    ++result.programs;
    program.price =
        priceOf(functionOf(*program.module).front(), known, impl.kind);
    bool isFirst = result.programs == 1;
    result.before = isFirst ? program.price : result.before;
    if (isFirst || program.price < result.best.price) {
      result.best = std::move(program);
    }
    return Status();
  };
  if (Status status = add({source.clone(), {}, {}}); !status.isOk()) {
    return status;
  }
  mlir::OwningOpRef<mlir::ModuleOp> grown = result.best.module->clone();
  EGraph graph(*grown, known, impl.sites.commutative());
  auto isComplete =
      Saturation(graph, impl.sites, impl.rules, impl.limits).run();
  if (!isComplete) {
    return isComplete.status();
  }
  Extractor extractor(graph, impl.kind);
  auto answers = extract(extractor.problem(), impl.limits.extraction);
  if (!answers) {
    return answers.status();
  }
  for (const Extraction &answer : answers->best) {
    if (Status status = add(extractor.program(source, answer, impl.rules));
        !status.isOk()) {
      return status;
    }
  }
  result.isComplete = *isComplete && answers->isComplete;
  return result;
}
