//===- JsonText.cpp - A JSON reader that says what is wrong where ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/JsonText.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/Integers.h"

#include <algorithm>
#include <utility>

namespace divisi {

using simdjson::ondemand::json_type;

/// Values that nobody reads may be nested so deeply.
static constexpr int kMostDepth = 64;

/// `text` cut short, with only what any terminal shows.
static std::string printable(std::string_view text) {
  constexpr size_t most = 24;
  std::string shown;
  for (char c : text.substr(0, most)) {
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  return shown + (text.size() > most ? "..." : "");
}

/// What stands at `rest`, or the end.
static std::string got(std::string_view rest) {
  if (rest.empty()) {
    return ", got the end of the text";
  }
  constexpr std::string_view single = "{}[],:";
  size_t end =
      single.find(rest.front()) != std::string_view::npos
          ? 1
          : std::min(rest.find_first_of(" \t\r\n{}[],:", 1), rest.size());
  return ", got '" + printable(rest.substr(0, end)) + "'";
}

bool JsonText::fail(size_t offset, std::string what, std::string path) {
  offset_ = std::min(offset, text_.size());
  what_ = std::move(what);
  path_ = std::move(path);
  return false;
}

bool JsonText::within(std::string_view step) {
  constexpr size_t most = 100;
  bool joins = !path_.empty() && path_.front() != '[';
  if (path_.size() > most) {
    path_.replace(most, path_.npos, "...");
  }
  path_ = std::string(step) + (joins ? "." : "") + path_;
  return false;
}

Status JsonText::status() const {
  std::string_view before = text_.substr(0, offset_);
  auto line = std::ranges::count(before, '\n') + 1;
  // npos + 1 is 0: the first line.
  size_t column = offset_ - (before.rfind('\n') + 1) + 1;
  return {ExitCode::Invalid, "line " + std::to_string(line) + ", column " +
                                 std::to_string(column) + ": " + path_ +
                                 (path_.empty() ? "" : ": ") + what_};
}

bool JsonText::unexpected(Value value, const std::string &expected) {
  size_t at = offset(value);
  return fail(at, "expected " + expected + got(text_.substr(at)));
}

bool JsonText::malformed(const char *expected) {
  const char *at = nullptr;
  if (document_.current_location().get(at)) {
    at = text_.data() + text_.size();
  }
  size_t offset = std::min(size_t(at - text_.data()), text_.size());
  return fail(offset,
              std::string("expected ") + expected + got(text_.substr(offset)));
}

/// The first control character in a string, or else the quote that is never
/// closed.
static size_t findBadString(std::string_view text) {
  size_t open = text.size();
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = !inside;
      open = i;
    } else if (inside && (unsigned char)text[i] < 0x20) {
      return i;
    }
  }
  return open;
}

/// The first byte that cannot be UTF-8 where it stands.
static size_t findBadUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    unsigned char lead = (unsigned char)text[at];
    size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!simdjson::validate_utf8(text.data() + at,
                                 std::min(length, text.size() - at))) {
      break;
    }
    at += length;
  }
  return at;
}

bool JsonText::badText(simdjson::error_code error) {
  switch (error) {
  case simdjson::EMPTY:
    return fail(0, "the text is empty; expected '{'");
  case simdjson::UTF8_ERROR:
    return fail(findBadUtf8(text_), "the text is not UTF-8");
  case simdjson::UNCLOSED_STRING:
    return fail(findBadString(text_), "a string is not closed");
  case simdjson::UNESCAPED_CHARS:
    return fail(findBadString(text_),
                "a control character in a string; write it as an escape");
  default:
    return fail(0, std::string("the text cannot be parsed: ") +
                       simdjson::error_message(error));
  }
}

bool JsonText::readRoot(std::span<Member> members) {
  if (text_.starts_with("\xEF\xBB\xBF")) {
    return fail(0, "the text begins with a byte order mark; remove it");
  }
  auto error = parser_
                   .iterate(text_.data(), text_.size(),
                            text_.size() + InputText::kPadding)
                   .get(document_);
  if (error) {
    return badText(error);
  }
  size_t first = std::min(text_.find_first_not_of(" \t\r\n"), text_.size());
  simdjson::ondemand::object object;
  if (document_.get_object().get(object)) {
    return text_[first] == '{'
               ? fail(text_.size(), "the text does not end with '}'; it is cut "
                                    "off, or something follows")
               : fail(first, "expected '{'" + got(text_.substr(first)));
  }
  if (!this->members(object, first, members)) {
    return false;
  }
  const char *rest = nullptr;
  return document_.current_location().get(rest) == simdjson::OUT_OF_BOUNDS ||
         malformed("the end of the text");
}

bool JsonText::object(Value value, std::span<Member> members) {
  size_t at = offset(value);
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) {
    return unexpected(value, "an object");
  }
  return this->members(object, at, members);
}

template <typename Field>
bool JsonText::fields(simdjson::ondemand::object object, Field field) {
  for (auto next : object) {
    simdjson::ondemand::field member;
    std::string_view key;
    if (std::move(next).get(member)) {
      return malformed("a key with ':', ',' or '}'");
    }
    size_t offset = size_t(member.key().raw() - 1 - text_.data());
    if (member.unescaped_key().get(key)) {
      return fail(offset, "an escape in this key is malformed");
    }
    if (!field(key, offset, member.value())) {
      return within(printable(key));
    }
  }
  return true;
}

bool JsonText::members(simdjson::ondemand::object object, size_t offset,
                       std::span<Member> members) {
  bool good =
      fields(object, [&](std::string_view key, size_t keyPlace, Value value) {
        auto member = std::ranges::find(members, key, &Member::key);
        if (member == members.end()) {
          return skip(value, 1);
        }
        if (std::exchange(member->found, true)) {
          return fail(keyPlace, "this key occurs twice");
        }
        return member->read(value);
      });
  if (!good) {
    return false;
  }
  for (const Member &member : members) {
    if (member.required && !member.found) {
      return fail(offset,
                  "this object has no key \"" + std::string(member.key) + "\"");
    }
  }
  return true;
}

bool JsonText::string(Value value, std::string_view &out) {
  auto error = value.get_string().get(out);
  if (error == simdjson::INCORRECT_TYPE) {
    return unexpected(value, "a string");
  }
  return !error || fail(offset(value), "an escape in this string is malformed");
}

bool JsonText::decimal(Value value, int64_t &out) {
  std::string_view token = value.raw_json_token();
  std::string_view number =
      token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  // Reading it as a double checks the grammar and goes on to the next token.
  double rounded = 0;
  if (number.find_first_not_of("-+.eE0123456789") == std::string_view::npos &&
      value.get_double().get(rounded) == simdjson::SUCCESS) {
    if (auto integral = parseIntegral(number)) {
      out = *integral;
      return true;
    }
  }
  size_t at = size_t(token.data() - text_.data());
  return fail(at, "expected an integer of 64 bits" + got(text_.substr(at)));
}

bool JsonText::wide(Value value, __int128 &out) {
  std::string_view token = value.raw_json_token();
  std::string_view digits =
      token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  bool negative = digits.starts_with('-');
  digits.remove_prefix(negative);
  bool good = !digits.empty() && (digits == "0" || digits.front() != '0') &&
              digits.find_first_not_of("0123456789") == digits.npos;
  out = 0;
  for (char digit : good ? digits : std::string_view()) {
    // Towards the sign, since the least number has no positive counterpart.
    int step = negative ? '0' - digit : digit - '0';
    good &= !__builtin_mul_overflow(out, 10, &out) &&
            !__builtin_add_overflow(out, step, &out);
  }
  return good || unexpected(value, "a plain integer of 128 bits");
}

bool JsonText::number(Value value, double &out) {
  return value.get_double().get(out) == simdjson::SUCCESS ||
         unexpected(value, "a number");
}

bool JsonText::boolean(Value value, bool &out) {
  return value.get_bool().get(out) == simdjson::SUCCESS ||
         unexpected(value, "true or false");
}

bool JsonText::skip(Value value, int depth) {
  if (depth > kMostDepth) {
    return fail(offset(value), "values are nested more than " +
                                   std::to_string(kMostDepth) + " deep");
  }
  json_type type;
  if (value.type().get(type)) {
    return unexpected(value, "a value");
  }
  bool boolean = false, good = false;
  double number = 0;
  std::string_view text;
  switch (type) {
  case json_type::array:
    return list(value, [&](Value item) { return skip(item, depth + 1); });
  case json_type::object:
    return skipObject(value, depth);
  case json_type::string:
    return string(value, text);
  case json_type::number:
    good = value.get_double().get(number) == simdjson::SUCCESS;
    break;
  case json_type::boolean:
    good = value.get_bool().get(boolean) == simdjson::SUCCESS;
    break;
  case json_type::null:
    good = value.is_null().get(boolean) == simdjson::SUCCESS && boolean;
    break;
  }
  return good || unexpected(value, "a value");
}

bool JsonText::skipObject(Value value, int depth) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) {
    return unexpected(value, "an object");
  }
  return fields(object, [&](std::string_view, size_t, Value member) {
    return skip(member, depth + 1);
  });
}

} // namespace divisi
