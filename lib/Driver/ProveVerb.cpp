//===- ProveVerb.cpp - divisi prove ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes substitution rules through their gates, and says of each what came of
// it.
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "JobsFlag.h"
#include "Outputs.h"
#include "Verbs.h"

#include "divisi/Prove/Check.h"
#include "divisi/Rules/Lemmas.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Rules/Shipped.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;
using namespace divisi::rewrite;

namespace {

class ProveVerb : public Verb {
public:
  ProveVerb() : Verb("prove") {}
  Status run() override;

private:
  divisi::Expected<std::vector<Rule>> readRules() const;
  divisi::Expected<std::vector<Rule>> readAxioms() const;
  Status checkFiles() const;
  Status writeSMTLIB(const std::vector<Rule> &rules,
                     const std::vector<Rule> &axioms) const;
  void tell(const Verdict &verdict, const Rule &rule);
  Status conclude(size_t count);

  cl::opt<std::string> file_{cl::Positional, cl::sub(command), cl::ZeroOrMore,
                             cl::desc("[RULES|-]")};
  cl::opt<std::string> rule_{"rule", cl::sub(command), on(ActsOn::Answer),
                             cl::value_desc("NAME"),
                             cl::desc("only this rule")};
  cl::opt<std::string> axioms_{
      "axioms", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("use the axioms of this file instead of Divisi's")};
  cl::opt<std::string> smtlib_{
      "smtlib", cl::sub(command), on(ActsOn::Answer), cl::value_desc("OUT"),
      cl::desc("write the Z3 query for --rule, instead of asking Z3")};
  cl::opt<std::string> record_{
      "record", cl::sub(command), on(ActsOn::Answer), cl::value_desc("OUT"),
      cl::desc("record which rules are proved, and at which ranks")};
  JobsFlag jobs_{
      command, JobsFlag::cores(),
      cl::desc("by N processes (default: as many as there are cores)")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("the verdicts as JSON on stdout")};

  json::Array answers_;
  std::vector<Verdict> verdicts_;
  std::vector<std::string> refused_;
  std::map<std::string, size_t> counts_;
};

} // namespace

divisi::Expected<std::vector<Rule>> ProveVerb::readRules() const {
  auto rules = file_.empty() ? shippedRules() : readRuleFile(file_);
  if (rules && rules->empty()) {
    return Status(ExitCode::Invalid, "'" + file_ + "' has no rules");
  }
  if (!rules || rule_.empty()) {
    return rules;
  }
  *rules =
      withLemmas(*rules, [&](const Rule &rule) { return rule.name == rule_; });
  if (rules->empty()) {
    return Status(ExitCode::Usage,
                  "--rule '" + rule_ + "': there is no rule of that name");
  }
  return rules;
}

divisi::Expected<std::vector<Rule>> ProveVerb::readAxioms() const {
  if (axioms_.empty()) {
    return shippedAxioms();
  }
  auto axioms = readRuleFile(axioms_);
  if (!axioms) {
    return axioms;
  }
  for (const Rule &rule : *axioms) {
    if (!rule.isAxiom) {
      return Status(ExitCode::Invalid,
                    "--axioms '" + axioms_ + "': '" + rule.name +
                        "' is a rule, expected axioms alone");
    }
  }
  return axioms;
}

Status ProveVerb::checkFiles() const {
  OutputCheck files;
  files.addInput("the rules", file_);
  files.addInput("the axioms", axioms_);
  for (auto [option, path] :
       {std::pair("--smtlib", &smtlib_), std::pair("--record", &record_)}) {
    if (path->empty()) {
      continue;
    }
    if (Status status = files.addOutput(option, *path); !status.isOk()) {
      return status;
    }
  }
  return Status();
}

Status ProveVerb::writeSMTLIB(const std::vector<Rule> &rules,
                              const std::vector<Rule> &axioms) const {
  if (rule_.empty()) {
    return Status(ExitCode::Usage, "--smtlib needs --rule NAME");
  }
  Instantiator instantiator;
  Obligations obligations = obligationsOf(rules.back(), instantiator);
  Prover prover;
  std::vector<SymbolicRule> said =
      symbolicAxioms(axiomsWithin(axioms, rules), rules, instantiator);
  for (const SymbolicRule &axiom : usableAxioms(said, {obligations})) {
    prover.assume(axiom);
  }
  std::string text;
  for (const SymbolicRule &each : obligations) {
    text += "; " + each.name + ", " + each.place + "\n" +
            prover.toSMTLIB(each) + "(reset)\n";
  }
  return writeFile(smtlib_, text);
}

static const char *spell(Domain domain) {
  return domain == Domain::Field      ? "in the prime field"
         : domain == Domain::Integers ? "on small integers"
                                      : "on small integers, up to rounding";
}

/// What is said behind the standing of a rule.
static std::string describeVerdict(const Verdict &verdict, const Rule &rule) {
  if (verdict.refusal) {
    return std::string("by its ") + spell(verdict.refusal->gate) + ": " +
           verdict.refusal->reason;
  }
  std::string text =
      verdict.where.empty() ? "" : "where " + verdict.where + ", ";
  text += "equal at " + std::to_string(verdict.instances) + " instances " +
          spell(verdict.domain);
  if (rule.numericClass) {
    text += std::string("; ") + spell(*rule.numericClass);
  }
  if (!verdict.axioms.empty()) {
    text += "; by " + join(verdict.axioms, ", ");
  }
  return verdict.open.empty() ? text : text + "; open: " + verdict.open;
}

void ProveVerb::tell(const Verdict &verdict, const Rule &rule) {
  // An axiom is not proved.
  const char *standing =
      rule.isAxiom && !verdict.refusal ? "believed" : spell(verdict.status);
  ++counts_[standing];
  verdicts_.push_back(verdict);
  if (verdict.refusal) {
    refused_.push_back(verdict.rule);
  }
  if (!json_) {
    textOut() << formatv("{0}: {1} {2} ({3:F2} s)\n", verdict.rule, standing,
                         describeVerdict(verdict, rule), verdict.seconds);
    flushConsole();
    return;
  }
  json::Object answer{{"rule", verdict.rule},
                      {"standing", standing},
                      {"instances", int64_t(verdict.instances)},
                      {"domain", spell(verdict.domain)},
                      {"axioms", json::Array(verdict.axioms)},
                      {"seconds", verdict.seconds}};
  if (rule.numericClass) {
    answer["class"] = spell(*rule.numericClass);
  }
  if (verdict.refusal) {
    answer["gate"] = spell(verdict.refusal->gate);
    answer["reason"] = verdict.refusal->reason;
  }
  if (!verdict.where.empty()) {
    answer["where"] = verdict.where;
  }
  if (!verdict.open.empty()) {
    answer["open"] = verdict.open;
  }
  answers_.push_back(std::move(answer));
}

Status ProveVerb::conclude(size_t count) {
  if (json_) {
    jsonOut() << formatv(
        "{0:2}\n", json::Value(json::Object{{"schema_version", 1},
                                            {"rules", std::move(answers_)}}));
  } else {
    std::string text;
    for (const auto &[standing, number] : counts_) {
      text +=
          (text.empty() ? "" : ", ") + std::to_string(number) + " " + standing;
    }
    textOut() << countText(int64_t(count), "rule") << ": " << text << "\n";
  }
  if (refused_.empty()) {
    return Status();
  }
  return makeError(ExitCode::Differs, refused_.size(), " of ",
                   countText(int64_t(count), "rule"),
                   " refused: ", join(refused_, ", "));
}

Status ProveVerb::run() {
  auto rules = readRules();
  if (!rules) {
    return rules.status();
  }
  auto axioms = readAxioms();
  if (!axioms) {
    return axioms.status();
  }
  if (Status status = jobs_.check(); !status.isOk()) {
    return status;
  }
  if (Status status = checkFiles(); !status.isOk()) {
    return status;
  }
  if (!smtlib_.empty()) {
    return writeSMTLIB(*rules, *axioms);
  }
  size_t next = 0;
  ProofLimits limits;
  limits.secondWork = kSecondWork;
  limits.byElements = axioms_.empty();
  limits.jobs = jobs_;
  checkRules(*rules, *axioms, limits,
             [&](const Verdict &verdict) { tell(verdict, (*rules)[next++]); });
  if (!record_.empty()) {
    Status status = writeFile(record_, printRecord(*rules, verdicts_, *axioms));
    if (!status.isOk()) {
      return status;
    }
  }
  return conclude(rules->size());
}

std::unique_ptr<Verb> divisi::makeProveVerb() {
  return std::make_unique<ProveVerb>();
}
