//===- Journal.cpp - Decisions of a run, on file --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Journal.h"

#include "divisi/Support/InputText.h"
#include "divisi/Support/OutputFile.h"

#include <filesystem>
#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;

static bool isDecision(char c) {
  return std::string_view("udrk").find(c) != std::string_view::npos;
}

Expected<Journal> Journal::open(const std::string &path,
                                const std::string &head) {
  Journal journal;
  journal.path_ = path;
  journal.text_ = head + "\n";
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) {
    return journal;
  }
  auto text = InputText::readFile(path);
  if (!text) {
    return text.status();
  }
  std::istringstream lines{std::string(text->text())};
  std::string line;
  if (!std::getline(lines, line) || line != head) {
    return Status(ExitCode::Invalid, "the journal '" + path +
                                         "' is of something else: it begins "
                                         "with '" +
                                         line + "', expected '" + head +
                                         "'; name another file, or remove it");
  }
  for (int number = 2; std::getline(lines, line); ++number) {
    if (line.size() < 3 || !isDecision(line[0]) || line[1] != ' ') {
      return Status(ExitCode::Invalid,
                    path + ":" + std::to_string(number) +
                        ": expected a decision, one of u, d, r and k, a space "
                        "and an equation");
    }
    journal.note(line.substr(2), Decision(line[0]));
  }
  journal.isChanged_ = false;
  return journal;
}

std::optional<Decision> Journal::find(const std::string &equation) const {
  auto found = decisions_.find(equation);
  return found == decisions_.end() ? std::nullopt
                                   : std::optional(found->second);
}

void Journal::note(const std::string &equation, Decision decision) {
  if (decisions_.emplace(equation, decision).second) {
    text_ += char(decision);
    text_ += " " + equation + "\n";
    isChanged_ = true;
  }
}

Status Journal::save() {
  if (path_.empty() || !isChanged_) {
    return Status();
  }
  isChanged_ = false;
  return writeFile(path_, text_);
}
