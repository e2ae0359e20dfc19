//===- RulesVerb.cpp - divisi rules ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates substitution rules, asks what rules say of all equations that a
// generator meets, and chooses of those that were generated what is applied.
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "JobsFlag.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "Verbs.h"

#include "divisi/Generate/Generate.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Rules/Shipped.h"
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
  Status select() const;
  Status checkFiles() const;
  GenerateOptions options() const;

  cl::opt<std::string> action_{cl::Positional, cl::sub(command), cl::Required,
                               cl::desc("generate|entail|select")};
  cl::opt<std::string> file_{
      "rules", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("entail: use these rules (default: those of Divisi, and its "
               "axioms); select: choose among these")};
  cl::opt<std::string> of_{
      "of", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("entail: only the equations that follow from FILE")};
  JobsFlag jobs_{command, 1, cl::desc("generate: by N processes (default: 1)")};
  OutputFlag output_{command, "OUT",
                     cl::desc("write the rules to OUT (default: stdout)")};
  cl::list<std::string> worlds_{"world",
                                cl::sub(command),
                                on(ActsOn::Answer),
                                cl::value_desc("NAME"),
                                cl::CommaSeparated,
                                cl::desc("only these worlds of the table")};
  cl::opt<unsigned> most_{
      "operators",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("N"),
      cl::init(4),
      cl::desc(
          "enumerate graphs of up to N operators (default: as in the table)")};
  cl::opt<uint64_t> seed_{
      "seed",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("N"),
      cl::init(1),
      cl::desc(
          "the seed of the random elements on which graphs are evaluated")};
  cl::opt<std::string> journal_{
      "journal", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("record the decisions for each world in FILE.WORLD, and resume "
               "from there")};
  cl::opt<std::string> counts_{
      "counts", cl::sub(command), on(ActsOn::Answer), cl::value_desc("OUT"),
      cl::desc("write statistics of all graphs, as a table in Markdown")};
  cl::opt<bool> table_{
      "table", cl::sub(command), on(ActsOn::Answer),
      cl::desc("print the tensors and operators of all worlds, and exit")};
};

} // namespace

GenerateOptions RulesVerb::options() const {
  GenerateOptions options;
  options.seed = seed_;
  options.vocabularies.assign(worlds_.begin(), worlds_.end());
  options.most = most_;
  options.journal = journal_;
  options.jobs = jobs_;
  return options;
}

Status RulesVerb::checkFiles() const {
  OutputCheck files;
  files.addInput("the rules", file_);
  files.addInput("the equations", of_);
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
    text +=
        formatv("| {0} | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} | "
                "{9} | {10} | {11} | {12} |\n",
                each.vocabulary, each.operators, each.enumerated, each.classes,
                each.equal, each.renamed, each.asked, each.unsaid, each.derived,
                each.refused, each.kept, each.proved, each.kept - each.proved)
            .str();
  }
  return text;
}

Status RulesVerb::generate() const {
  auto axioms = shippedAxioms();
  if (!axioms) {
    return axioms.status();
  }
  auto made =
      generateRules(options(), *axioms, [&](const GenerateCounts &counts) {
        Message("") << formatv(
            "{0}, {1} operators: {2} graphs, {3} equations up to "
            "names, {4} kept",
            counts.vocabulary, counts.operators, counts.enumerated,
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

/// Of what was generated, what is worth applying.
Status RulesVerb::select() const {
  if (file_.empty()) {
    return Status(ExitCode::Usage,
                  "select chooses among rules that were generated; --rules "
                  "names their file");
  }
  auto rules = readRuleFile(file_);
  auto written = shippedRules();
  if (!rules || !written) {
    return rules ? written.status() : rules.status();
  }
  std::erase_if(*written, [](const Rule &rule) { return rule.isGenerated; });
  return writeFile(output_.empty() ? "-" : std::string(output_),
                   printRules(selectApplied(*rules, *written)));
}

/// Those of a file, or those of Divisi.
static divisi::Expected<std::vector<Rule>> rulesOf(const std::string &file) {
  if (!file.empty()) {
    return readRuleFile(file);
  }
  auto rules = shippedRules();
  auto axioms = shippedAxioms();
  if (rules && axioms) {
    llvm::append_range(*rules, *axioms);
  }
  return axioms ? rules : axioms;
}

Status RulesVerb::entail() const {
  auto rules = rulesOf(file_);
  if (!rules) {
    return rules.status();
  }
  std::vector<Rule> given;
  if (!of_.empty()) {
    auto read = readRuleFile(of_);
    if (!read) {
      return read.status();
    }
    given = std::move(*read);
  }
  uint64_t open = 0;
  Status status = entailGenerated(
      options(), *rules, given, /*byElements=*/file_.empty(),
      [&](const EntailCounts &counts) {
        open += counts.open.size();
        textOut() << formatv(
            "{0}, {1} operators: {2} equations, {3} without "
            "words, {4} asked about, {5} entailed, {6} open, {7} "
            "false elsewhere\n",
            counts.vocabulary, counts.operators, counts.equations,
            counts.unsaid, counts.asked, counts.entailed, counts.open.size(),
            counts.refused);
        for (const Rule &rule : counts.open) {
          textOut() << "  " << rule.summary << "\n";
        }
        flushConsole();
      });
  if (!status.isOk() || open == 0) {
    return status;
  }
  return makeError(ExitCode::Differs, open,
                   " equations do not follow from the rules");
}

Status RulesVerb::run() {
  if (action_ != "generate" && action_ != "entail" && action_ != "select") {
    return Status(ExitCode::Usage,
                  "'" + action_ + "': expected generate, entail or select");
  }
  if (most_ < 1 || most_ > 4) {
    return Status(ExitCode::Usage, "--operators " + std::to_string(most_) +
                                       ": expected a number from 1 to 4");
  }
  if (Status status = jobs_.check(); !status.isOk()) {
    return status;
  }
  if (Status status = checkFiles(); !status.isOk()) {
    return status;
  }
  if (table_) {
    textOut() << printGenerateTable();
    return Status();
  }
  if (action_ == "entail") {
    return entail();
  }
  if (action_ == "select") {
    return select();
  }
  for (auto [flag, path] : {std::pair("--rules", std::string(file_)),
                            std::pair("--of", std::string(of_))}) {
    if (!path.empty()) {
      return makeError(ExitCode::Usage, flag, " '", path,
                       "' is for entail; -o names the file that generate "
                       "writes");
    }
  }
  return generate();
}

std::unique_ptr<Verb> divisi::makeRulesVerb() {
  return std::make_unique<RulesVerb>();
}
