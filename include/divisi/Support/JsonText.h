//===- JsonText.h - A JSON reader that says what is wrong where -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Texts have a hundred megabytes of integers, so there is no document tree:
// simdjson finds the tokens, and this class calls back for each element of a
// list and each key of an object. Everything is checked, also elements that no
// caller reads, which On-Demand would skip.
//
// Functions return false once something is wrong; who called them returns false
// in turn. On that way out each list and object adds its part to the path, so
// that success costs nothing:
//
//   line 1, column 93: problem.nodes.costs[2][0]: expected an integer of 64
//   bits, got '1.5'
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_JSONTEXT_H
#define DIVISI_SUPPORT_JSONTEXT_H

#include "divisi/Support/Integers.h"

#include "divisi/Support/Status.h"

#include <cstdint>
#include <functional>
#include <simdjson.h>
#include <span>
#include <string>
#include <string_view>

namespace divisi {

/// Walks through one text. The first thing that is wrong ends the walk.
class JsonText {
public:
  /// A value that the walk has come to; it is read once.
  using Value = simdjson::ondemand::value;

  /// A key that an object may have, or must have, and who reads its value.
  struct Member {
    std::string_view key;            ///< Unescaped.
    bool required;                   ///< Whether the object must have it.
    std::function<bool(Value)> read; ///< False: it said what is wrong.
    bool found = false;              ///< Set by the walk.
  };

  /// `text` must be followed by InputText::kPadding zeros and stay while this
  /// is in use.
  explicit JsonText(std::string_view text) : text_(text) {}

  /// Reads the text, which is one object. Keys that are not members are
  /// skipped. False if anything was wrong.
  bool readRoot(std::span<Member> members);
  /// All of the text, without the padding.
  std::string_view text() const { return text_; }
  /// What was wrong first, as Invalid with line, column (in bytes) and path.
  Status status() const;

  /// Says that `what` is wrong with `path` at byte `offset` of the text.
  /// Returns false.
  bool fail(size_t offset, std::string what, std::string path = {});
  /// Where a value begins.
  static const char *begin(Value value) {
    return value.raw_json_token().data();
  }
  /// The same in bytes from the begin of the text.
  uint32_t offset(Value value) const {
    return uint32_t(begin(value) - text_.data());
  }

  // Each of these reads a value that must be of that kind, and returns false
  // if it is not or if what it consists of is wrong.

  /// An object: calls the members that it has; other keys are skipped.
  bool object(Value value, std::span<Member> members);
  /// A list: calls `element(value)` for each.
  template <typename Element> bool list(Value value, Element element);
  /// A string, unescaped. `out` stays as long as this object.
  bool string(Value value, std::string_view &out);
  /// An integer of 64 bits. Also takes 1e18 and 2.50e1, which are integers.
  bool integer(Value value, int64_t &out) {
    // The walk goes past what it was not asked to read.
    if (auto plain = parsePlainInteger(begin(value))) {
      out = *plain;
      return true;
    }
    return decimal(value, out);
  }

  /// An integer of 128 bits, which must be plain: digits with no needless zero.
  bool wide(Value value, __int128 &out);
  /// Any number, rounded to the nearest double.
  bool number(Value value, double &out);
  /// true or false.
  bool boolean(Value value, bool &out);

private:
  /// Calls `field(key, offset of the key, value)` for each.
  template <typename Field>
  bool fields(simdjson::ondemand::object object, Field field);
  bool members(simdjson::ondemand::object object, size_t offset,
               std::span<Member> members);
  /// An integer that is not plain, such as 1e18.
  bool decimal(Value value, int64_t &out);
  /// Checks a value that nobody asked for, `depth` values deep.
  bool skip(Value value, int depth);
  bool skipObject(Value value, int depth);
  /// `value` is not what was expected.
  bool unexpected(Value value, const std::string &expected);
  /// A comma, bracket or colon is missing.
  bool malformed(const char *expected);
  /// What no token can be found in: no UTF-8, an open string.
  bool badText(simdjson::error_code error);
  /// Puts `step` before the path of the failure. Returns false.
  bool within(std::string_view step);
  bool within(size_t index) {
    return within("[" + std::to_string(index) + "]");
  }

  std::string_view text_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  size_t offset_ = 0;
  std::string what_, path_;
};

template <typename Element> bool JsonText::list(Value value, Element element) {
  simdjson::ondemand::array elements;
  if (value.get_array().get(elements)) {
    return unexpected(value, "a list");
  }
  size_t index = 0;
  for (auto next : elements) {
    Value item;
    if (next.get(item)) {
      return malformed("',' or ']'");
    }
    if (!element(item)) {
      return within(index);
    }
    ++index;
  }
  return true;
}

} // namespace divisi

#endif // DIVISI_SUPPORT_JSONTEXT_H
