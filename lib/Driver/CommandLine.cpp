//===- CommandLine.cpp - What is wrong with a command line ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "ActsOn.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace divisi;

namespace {

/// What the value_desc of an option says of its values.
struct NumberKind {
  StringLiteral name;
  StringLiteral expected;
  bool (*fits)(StringRef text);
};

/// Looks at the arguments of one verb, from left to right.
class ArgumentChecker {
public:
  explicit ArgumentChecker(cl::SubCommand &verb)
      : verb_(verb), options_(cl::getRegisteredOptions(verb)) {}

  Status check(ArrayRef<const char *> arguments);

private:
  /// Looks at one argument, and at its value if that is the next one; how many
  /// have been looked at.
  size_t checkOption(ArrayRef<const char *> rest);
  void checkValue(const cl::Option &option, StringRef value);
  void checkInputs();
  void complain(const Twine &mistake) { mistakes_.push_back(mistake.str()); }
  std::vector<std::string> names() const;

  cl::SubCommand &verb_;
  DenseMap<StringRef, cl::Option *> &options_;
  std::vector<StringRef> inputs_;
  std::vector<std::string> mistakes_;
  bool isUnknownSeen_ = false; ///< Its value looks like an input.
};

} // namespace

template <typename Number> static bool isInteger(StringRef text) {
  Number number = 0;
  return !text.getAsInteger(0, number);
}

static bool isReal(StringRef text) {
  double number = 0;
  return !text.getAsDouble(number);
}

static constexpr NumberKind kNumbers[] = {
    {"N", "a whole number", isInteger<int64_t>},
    {"D", "a whole number", isInteger<int64_t>},
    {"MS", "a whole number of milliseconds", isInteger<int64_t>},
    {"SEED", "a whole number of at least 0", isInteger<uint64_t>},
    {"SECONDS", "a number of seconds", isReal},
    {"R", "a number", isReal},
    {"A", "a number", isReal},
};

std::string divisi::spell(const cl::Option &option) {
  return (option.ArgStr.size() > 1 ? "--" : "-") + option.ArgStr.str();
}

// A third of the name may be wrong; a name may also be the beginning of one.
std::string divisi::suggest(StringRef name, ArrayRef<std::string> names) {
  StringRef bare = name.ltrim('-');
  size_t best = std::max<size_t>(1, bare.size() / 3) + 1;
  StringRef nearest;
  for (StringRef other : names) {
    bool isBeginning = bare.size() > 2 && other.ltrim('-').starts_with(bare);
    size_t distance =
        isBeginning ? 1 : bare.edit_distance(other.ltrim('-'), true, best);
    if (distance < best) {
      best = distance;
      nearest = other;
    }
  }
  return nearest.empty() ? std::string()
                         : ("; did you mean '" + nearest + "'?").str();
}

/// Those that are ours, sorted.
std::vector<std::string> ArgumentChecker::names() const {
  std::vector<std::string> names;
  for (auto [name, option] : options_) {
    if (stepOf(*option)) {
      names.push_back((name.size() > 1 ? "--" : "-") + name.str());
    }
  }
  llvm::sort(names);
  return names;
}

void ArgumentChecker::checkValue(const cl::Option &option, StringRef value) {
  const NumberKind *kind = find_if(kNumbers, [&](const NumberKind &kind) {
    return kind.name == option.ValueStr;
  });
  if (kind != std::end(kNumbers) && !kind->fits(value)) {
    complain(spell(option) + " '" + value + "': expected " + kind->expected);
  }
}

size_t ArgumentChecker::checkOption(ArrayRef<const char *> rest) {
  StringRef argument = rest.front();
  auto [name, value] = argument.ltrim('-').split('=');
  bool hasValue = argument.contains('=');
  auto found = options_.find(name);
  if (found == options_.end()) {
    isUnknownSeen_ = true;
    StringRef given = argument.split('=').first;
    complain("unknown option '" + given + "'" + suggest(given, names()));
    return 1;
  }
  const cl::Option &option = *found->second;
  if (option.getValueExpectedFlag() != cl::ValueRequired) {
    constexpr StringLiteral kTruths[] = {"true", "false", "1", "0"};
    bool isTruth = is_contained(kTruths, value.lower());
    if (hasValue && !isTruth) {
      complain(spell(option) + " takes no value, got '" + value + "'");
    }
    return 1;
  }
  if (!hasValue && rest.size() < 2) {
    complain(spell(option) + " needs a value, " + option.ValueStr);
    return 1;
  }
  checkValue(option, hasValue ? value : StringRef(rest[1]));
  return hasValue ? 1 : 2;
}

/// An option takes one input, or a list of them any number.
void ArgumentChecker::checkInputs() {
  if (verb_.PositionalOpts.empty()) {
    if (!inputs_.empty()) {
      complain(verb_.getName() + " takes no input, got '" + inputs_[0] + "'");
    }
    return;
  }
  const cl::Option &input = *verb_.PositionalOpts.front();
  bool isList = input.getNumOccurrencesFlag() == cl::OneOrMore;
  bool isOptional = input.getNumOccurrencesFlag() == cl::ZeroOrMore;
  if (inputs_.empty() && !isOptional) {
    complain(verb_.getName() + " needs an input, " + input.HelpStr);
  } else if (!isList && inputs_.size() > 1) {
    complain(verb_.getName() + " takes one input, " + input.HelpStr +
             ", got '" + join(inputs_, "' and '") + "'");
  }
}

Status ArgumentChecker::check(ArrayRef<const char *> arguments) {
  while (!arguments.empty()) {
    StringRef argument = arguments.front();
    size_t seen = 1;
    if (argument == "--") {
      llvm::append_range(inputs_, arguments.drop_front());
      break;
    }
    if (argument.size() > 1 && argument.starts_with("-")) {
      if (argument.ltrim('-').starts_with("help")) {
        return Status(); // The parser prints it and ends the program.
      }
      seen = checkOption(arguments);
    } else {
      inputs_.push_back(argument);
    }
    arguments = arguments.drop_front(seen);
  }
  if (!isUnknownSeen_) {
    checkInputs();
  }
  return mistakes_.empty() ? Status()
                           : Status(ExitCode::Usage, join(mistakes_, "; "));
}

Status divisi::checkArguments(cl::SubCommand &verb,
                              ArrayRef<const char *> arguments) {
  return ArgumentChecker(verb).check(arguments);
}

Status divisi::checkGivenOnce(cl::SubCommand &verb) {
  std::vector<std::string> names;
  for (auto [name, option] : cl::getRegisteredOptions(verb)) {
    if (option->getNumOccurrences() > 1 &&
        option->getNumOccurrencesFlag() == cl::Optional) {
      names.push_back(spell(*option));
    }
  }
  llvm::sort(names);
  return names.empty()
             ? Status()
             : Status(ExitCode::Usage, join(names, ", ") +
                                           (names.size() > 1 ? " are" : " is") +
                                           " given more than once");
}
