//===- RulesVerb.cpp - divisi rules ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates substitution rules, and asks what rules say of all equations that a
// generator meets.
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "RuleFiles.h"
#include "Verbs.h"

#include "divisi/Rewrite/Generate.h"
#include "divisi/Rewrite/RuleText.h"
#include "divisi/Rewrite/Shipped.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;
using namespace divisi::rewrite;

namespace {

class RulesVerb : public Verb {
public:
  RulesVerb() : Verb("rules") {}
  Status run() override;

private:
  Status generate() const;
  Status entail() const;
  Status checkFiles() const;
  GenerateOptions options() const;

  cl::opt<std::string> action_{cl::Positional, cl::sub(command), cl::Required,
                               cl::desc("generate|entail")};
  cl::opt<std::string> file_{
      "rules", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("entail: from these rules (default: those of Divisi)")};
  OutputFlag output_{command, "OUT",
                     cl::desc("write the rules to OUT (default: stdout)")};
  cl::list<std::string> worlds_{
      "world", cl::sub(command), on(ActsOn::Answer), cl::value_desc("NAME"),
      cl::CommaSeparated, cl::desc("these worlds of the table alone")};
  cl::opt<unsigned> most_{
      "operators", cl::sub(command), on(ActsOn::Answer), cl::value_desc("N"),
      cl::init(4), cl::desc("graphs of up to N operators (default: as many as "
                            "the table says)")};
  cl::opt<uint64_t> seed_{
      "seed", cl::sub(command), on(ActsOn::Answer), cl::value_desc("N"),
      cl::init(1), cl::desc("of the elements that graphs are tried on")};
  cl::opt<std::string> journal_{
      "journal", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("write down what is decided, and go on where FILE ends")};
  cl::opt<std::string> counts_{
      "counts", cl::sub(command), on(ActsOn::Answer), cl::value_desc("OUT"),
      cl::desc("write what became of all graphs, as a table in Markdown")};
  cl::opt<bool> table_{
      "table", cl::sub(command), on(ActsOn::Answer),
      cl::desc("print the tensors and operators of all worlds, and do nothing")};
};

} // namespace

GenerateOptions RulesVerb::options() const {
  GenerateOptions options;
  options.seed = seed_;
  options.worlds.assign(worlds_.begin(), worlds_.end());
  options.most = most_;
  options.journal = journal_;
  return options;
}

Status RulesVerb::checkFiles() const {
  OutputCheck files;
  files.addInput("the rules", file_);
  for (auto [flag, path] : {std::pair("-o", std::string(output_)),
                            std::pair("--journal", std::string(journal_)),
                            std::pair("--counts", std::string(counts_))}) {
    if (path.empty()) {
      continue;
    }
    if (Status status = files.addOutput(flag, path); !status.isOk()) {
      return status;
    }
  }
  return Status();
}

static std::string printCounts(const std::vector<GenerateCounts> &all) {
  std::string text =
      "| world | operators | enumerated | classes | equal | up to names | not "
      "rewritten | no words | derived | refused | kept | proved | tested only "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const GenerateCounts &each : all) {
    text += formatv("| {0} | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} | "
                    "{9} | {10} | {11} | {12} |\n",
                    each.world, each.operators, each.enumerated, each.classes,
                    each.equal, each.renamed, each.asked, each.unsaid,
                    each.derived, each.refused, each.kept, each.proved,
                    each.kept - each.proved)
                .str();
  }
  return text;
}

Status RulesVerb::generate() const {
  auto axioms = shippedAxioms();
  if (!axioms) {
    return axioms.status();
  }
  auto made = generateRules(
      options(), *axioms, [&](const GenerateCounts &counts) {
        errs() << formatv("{0}, {1} operators: {2} graphs, {3} equations up to "
                          "names, {4} kept\n",
                          counts.world, counts.operators, counts.enumerated,
                          counts.renamed, counts.kept);
      });
  if (!made) {
    return made.status();
  }
  if (!counts_.empty()) {
    if (Status status = writeFile(counts_, printCounts(made->counts));
        !status.isOk()) {
      return status;
    }
  }
  return writeFile(output_.empty() ? "-" : std::string(output_),
                   printRules(made->rules));
}

Status RulesVerb::entail() const {
  auto rules = file_.empty() ? shippedRules() : readRuleFile(file_);
  if (!rules) {
    return rules.status();
  }
  uint64_t open = 0;
  Status status =
      entailGenerated(options(), *rules, [&](const EntailCounts &counts) {
        open += counts.open.size();
        outs() << formatv("{0}, {1} operators: {2} equations, {3} entailed, "
                          "{4} open, {5} false elsewhere, {6} without words\n",
                          counts.world, counts.operators, counts.equations,
                          counts.entailed, counts.open.size(), counts.refused,
                          counts.unsaid);
        for (const Rule &rule : counts.open) {
          outs() << "  " << rule.summary << "\n";
        }
        outs().flush();
      });
  if (!status.isOk() || open == 0) {
    return status;
  }
  return makeError(ExitCode::Differs, open,
                   " equations do not follow from the rules");
}

Status RulesVerb::run() {
  if (action_ != "generate" && action_ != "entail") {
    return Status(ExitCode::Usage,
                  "'" + action_ + "': expected generate or entail");
  }
  if (most_ < 1 || most_ > 4) {
    return Status(ExitCode::Usage, "--operators " + std::to_string(most_) +
                                       ": expected a number from 1 to 4");
  }
  if (Status status = checkFiles(); !status.isOk()) {
    return status;
  }
  if (table_) {
    outs() << printGenerateTable();
    return Status();
  }
  if (action_ == "entail") {
    return entail();
  }
  if (!file_.empty()) {
    return Status(ExitCode::Usage, "--rules '" + file_ +
                                       "' is for entail; -o names the file "
                                       "that generate writes");
  }
  return generate();
}

std::unique_ptr<Verb> divisi::makeRulesVerb() {
  return std::make_unique<RulesVerb>();
}
