//===- UserRules.cpp - Rules of a user's own ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/UserRules.h"

#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Lemmas.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Rules/Shipped.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/Support/TemporaryFile.h"
#include "divisi/Support/UserCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <map>

using namespace divisi;
using namespace divisi::rewrite;

/// The rules of one file.
static Expected<std::vector<Rule>> readRules(const std::string &path) {
  auto rules = readRuleFile(path);
  if (!rules) {
    return rules;
  }
  if (rules->empty()) {
    return makeError(ExitCode::Invalid, "'", path, "' has no rules");
  }
  for (const Rule &rule : *rules) {
    if (rule.isAxiom) {
      return makeError(ExitCode::Invalid, path, ":", rule.at.line, ":",
                       rule.at.column, ": '", rule.name,
                       "' is an axiom, which is believed; expected rules, "
                       "which are proved");
    }
  }
  return rules;
}

namespace {

/// Of one file of rules.
class FileProver {
public:
  FileProver(std::string path, const std::vector<Rule> &rules,
             const std::vector<Rule> &axioms, std::string prover,
             const std::string &proverHash)
      : path_(std::move(path)), prover_(std::move(prover)), rules_(rules),
        axioms_(axioms), known_(rules.size()),
        begin_("proof 1\n" + proverHash + "\n" + printRules(axioms)) {}

  /// All of them, in order; adds to `count` how many were proved now.
  Expected<std::vector<ProvedRule>> run(size_t &count);

private:
  std::string sourceOf(const Rule &rule) const;
  void find();
  Status prove(const std::string &folder);
  Status ask(const std::string &folder) const;
  Status keepProofs(const std::string &folder);
  Status refusal(const Rule &rule, const llvm::json::Value &answers) const;

  std::string path_, prover_;
  const std::vector<Rule> &rules_;
  const std::vector<Rule> &axioms_;
  std::vector<std::optional<ProvedRule>> known_; ///< What is proved of them.
  std::string begin_; ///< What every proof depends on, in front of the rule.
  UserCache cache_{"proofs"};
};

} // namespace

/// All that a proof of the rule depends on.
std::string FileProver::sourceOf(const Rule &rule) const {
  return begin_ + "\n" + printRules(withLemmas(rules_, [&](const Rule &each) {
           return each.name == rule.name;
         }));
}

/// Takes from the cache what is there.
void FileProver::find() {
  for (auto [rule, known] : llvm::zip_equal(rules_, known_)) {
    if (std::optional<std::string> record = cache_.find(sourceOf(rule))) {
      auto read = readRecord(*record, {rule}, axioms_);
      if (read && read->size() == 1) {
        known = std::move(read->front());
      }
    }
  }
}

static Expected<std::string> readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return makeError(ExitCode::File, "cannot read '", path,
                     "': ", buffer.getError().message());
  }
  return (*buffer)->getBuffer().str();
}

/// Lets the prover write its verdicts and its record to `folder`.
Status FileProver::ask(const std::string &folder) const {
  std::vector<Rule> asked = withLemmas(rules_, [&](const Rule &rule) {
    return !known_[size_t(&rule - rules_.data())];
  });
  std::string rules = folder + "/rules", record = folder + "/record",
              verdicts = folder + "/verdicts", said = folder + "/said";
  if (Status status = writeFile(rules, printRules(asked)); !status.isOk()) {
    return status;
  }
  llvm::StringRef words[] = {prover_,  "prove",    rules,
                             "--json", "--record", record};
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(verdicts), llvm::StringRef(said)};
  std::string error;
  int result = llvm::sys::ExecuteAndWait(prover_, words, std::nullopt,
                                         redirects, 0, 0, &error);
  if (result == int(ExitCode::Ok) || result == int(ExitCode::Differs)) {
    return Status();
  }
  Expected<std::string> text = readText(said);
  return makeError(ExitCode::Internal, "'", prover_, " prove' ended with ",
                   result, ": ", error, text ? *text : "");
}

/// What was said of a rule that is not proved.
Status FileProver::refusal(const Rule &rule,
                           const llvm::json::Value &answers) const {
  std::string standing = "the prover did not answer", reason;
  const llvm::json::Object *all = answers.getAsObject();
  const llvm::json::Array *list = all ? all->getArray("rules") : nullptr;
  for (size_t i = 0; list && i != list->size(); ++i) {
    const llvm::json::Object *each = (*list)[i].getAsObject();
    if (each && each->getString("rule").value_or("") == rule.name) {
      standing = each->getString("standing").value_or("").str();
      reason = each->getString("reason").value_or("").str();
      if (auto gate = each->getString("gate")) {
        standing += " by its " + gate->str();
      }
    }
  }
  if (reason.empty() && rule.open) {
    reason = "it is marked open, and what is applied has to be proved";
  }
  return makeError(ExitCode::Differs, path_, ":", rule.at.line, ":",
                   rule.at.column, ": the rule '", rule.name,
                   "' is not proved: ", standing, ": ", reason);
}

/// Keeps what the prover has proved; fails with the first rule that it has not.
Status FileProver::keepProofs(const std::string &folder) {
  Expected<std::string> record = readText(folder + "/record");
  Expected<std::string> verdicts = readText(folder + "/verdicts");
  if (!record || !verdicts) {
    return record ? verdicts.status() : record.status();
  }
  Expected<std::vector<ProvedRule>> proved =
      readRecord(*record, rules_, axioms_);
  if (!proved) {
    return proved.status().in("the answer of '" + prover_ + "'");
  }
  llvm::Expected<llvm::json::Value> answers = llvm::json::parse(*verdicts);
  if (!answers) {
    return makeError(ExitCode::Internal, "the answer of '", prover_,
                     "': ", llvm::toString(answers.takeError()));
  }
  std::map<std::string, ProvedRule> byName;
  for (ProvedRule &each : *proved) {
    byName.emplace(each.rule.name, std::move(each));
  }
  Status status;
  for (auto [rule, known] : llvm::zip_equal(rules_, known_)) {
    auto found = byName.find(rule.name);
    if (!known && found != byName.end()) {
      known = found->second;
      Verdict verdict;
      verdict.ranks = known->ranks;
      cache_.keep(sourceOf(rule), printRecord({rule}, {verdict}, axioms_));
    } else if (!known && status.isOk()) {
      status = refusal(rule, *answers);
    }
  }
  return status;
}

/// By the prover, in a folder that nobody else reads.
Status FileProver::prove(const std::string &folder) {
  Status status = ask(folder);
  return status.isOk() ? keepProofs(folder) : status;
}

Expected<std::vector<ProvedRule>> FileProver::run(size_t &count) {
  find();
  auto left = size_t(llvm::count(known_, std::nullopt));
  if (left != 0) {
    auto folder = TemporaryFolder::make(temporaryFolder(), "divisi-rules-");
    if (!folder) {
      return folder.status();
    }
    if (Status status = prove(folder->path()); !status.isOk()) {
      return status;
    }
    count += left;
  }
  std::vector<ProvedRule> all;
  for (std::optional<ProvedRule> &each : known_) {
    each->file = path_;
    all.push_back(std::move(*each));
  }
  return all;
}

/// Of the prover: another one may say something else.
static Expected<std::string> hashOfProgram(const std::string &program) {
  Expected<OpenFile> file = OpenFile::open(program);
  if (!file) {
    return makeError(file.status().code(), file.status().message(),
                     "; it proves the rules of --rules: install it with "
                     "divisi, or build the target divisi-rules");
  }
  Sha256 hash;
  std::vector<std::byte> piece(1 << 20);
  for (int64_t at = 0; at < file->size(); at += int64_t(piece.size())) {
    std::span<std::byte> part(
        piece.data(), size_t(std::min(file->size() - at, int64_t(1) << 20)));
    if (Status status = file->read(at, part); !status.isOk()) {
      return status;
    }
    hash.update(part);
  }
  return toHex(hash.finish());
}

/// Two rules of one name could not be told apart in a report.
static Status checkNames(const std::vector<std::string> &paths,
                         const std::vector<std::vector<Rule>> &files) {
  std::map<std::string, std::string> fileOf;
  for (auto [path, rules] : llvm::zip_equal(paths, files)) {
    for (const Rule &rule : rules) {
      auto [at, isNew] = fileOf.emplace(rule.name, path);
      if (!isNew) {
        return makeError(ExitCode::Usage, "--rules: '", at->second, "' and '",
                         path, "' both have a rule called '", rule.name,
                         "'; rename one of them");
      }
    }
  }
  return Status();
}

Expected<UserRules>
divisi::rewrite::proveUserRules(const std::vector<std::string> &paths,
                                const std::string &prover) {
  std::vector<std::vector<Rule>> files;
  for (const std::string &path : paths) {
    auto rules = readRules(path);
    if (!rules) {
      return rules.status();
    }
    files.push_back(std::move(*rules));
  }
  if (Status status = checkNames(paths, files); !status.isOk()) {
    return status;
  }
  auto axioms = shippedAxioms();
  Expected<std::string> hash = hashOfProgram(prover);
  if (!axioms || !hash) {
    return axioms ? hash.status() : axioms.status();
  }
  UserRules result;
  std::vector<ProvedRule> all;
  for (auto [path, rules] : llvm::zip_equal(paths, files)) {
    auto proved =
        FileProver(path, rules, *axioms, prover, *hash).run(result.proved);
    if (!proved) {
      return proved.status();
    }
    llvm::append_range(all, std::move(*proved));
  }
  auto useful = chooseRules(all, {});
  if (!useful) {
    return useful.status();
  }
  result.rules = std::move(*useful);
  for (const ProvedRule &each : all) {
    if (llvm::none_of(result.rules, [&](const ProvedRule &chosen) {
          return chosen.rule.name == each.rule.name;
        })) {
      result.idle.push_back(each.rule.name);
    }
  }
  return result;
}
