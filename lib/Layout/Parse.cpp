//===- Parse.cpp - Reading what this room prints --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Parse.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace divisi {

namespace {
/// A cursor over a short text. Methods return false after the first error,
/// which takeError() hands out.
class Parser {
public:
  explicit Parser(StringRef text) : text_(text), rest_(text) {}

  /// Takes `token` if it comes next; a word only as a whole.
  bool consume(StringRef token) {
    rest_ = rest_.ltrim();
    if (!rest_.starts_with(token)) {
      return false;
    }
    StringRef after = rest_.drop_front(token.size());
    if (isWordChar(token.back()) && !after.empty() &&
        isWordChar(after.front())) {
      return false;
    }
    rest_ = after;
    return true;
  }

  bool expect(StringRef token) {
    return consume(token) || fail("expected '" + token + "'");
  }

  bool word(StringRef &result, const Twine &what) {
    rest_ = rest_.ltrim();
    result = rest_.take_while(isWordChar);
    rest_ = rest_.drop_front(result.size());
    return !result.empty() || fail("expected " + what);
  }

  bool number(int64_t &result, const Twine &what) {
    rest_ = rest_.ltrim();
    StringRef digits = rest_.take_while(isDigit);
    if (digits.getAsInteger(10, result)) {
      return fail("expected " + what);
    }
    rest_ = rest_.drop_front(digits.size());
    return true;
  }

  bool atEnd() {
    rest_ = rest_.ltrim();
    return rest_.empty();
  }

  /// Records what is wrong, if nothing was before.
  bool fail(const Twine &message) {
    if (error_.empty()) {
      error_ = (message + " at column " +
                Twine(text_.size() - rest_.size() + 1) + " of '" + text_ + "'")
                   .str();
    }
    return false;
  }

  Error takeError() {
    return createStringError(inconvertibleErrorCode(), error_);
  }

private:
  static bool isWordChar(char c) { return isAlnum(c) || c == '_'; }

  StringRef text_, rest_;
  std::string error_;
};

/// Parser of names of axes, each used once.
class AxisParser {
public:
  AxisParser(Parser &parser, const Grid &grid)
      : parser_(parser), grid_(grid), used_(grid.numAxes(), false) {}

  /// x.y
  bool list(SmallVectorImpl<AxisId> &axes, StringRef separator) {
    do {
      StringRef name;
      if (!parser_.word(name, "the name of an axis")) {
        return false;
      }
      std::optional<AxisId> axis = grid_.find(name);
      if (!axis) {
        return parser_.fail("the grid has no axis '" + name + "', needed");
      }
      if (used_[axis->index]) {
        return parser_.fail("the axis '" + name + "' is used twice,");
      }
      used_[axis->index] = true;
      axes.push_back(*axis);
    } while (parser_.consume(separator));
    return true;
  }

private:
  Parser &parser_;
  const Grid &grid_;
  SmallVector<bool> used_;
};
} // namespace

/// 4  or  4:[3,3,1,1]
static bool parseSize(Parser &parser, GridAxis &axis) {
  if (!parser.number(axis.size, "the size of the axis")) {
    return false;
  }
  if (!parser.consume(":")) {
    return true;
  }
  if (!parser.expect("[")) {
    return false;
  }
  do {
    if (!parser.number(axis.weights.emplace_back(), "a weight")) {
      return false;
    }
  } while (parser.consume(","));
  return parser.expect("]");
}

static bool parseGridBody(Parser &parser, SmallVectorImpl<GridAxis> &axes) {
  if (!parser.expect("(")) {
    return false;
  }
  if (!parser.consume(")")) {
    do {
      StringRef name;
      GridAxis axis;
      if (!parser.word(name, "the name of an axis") || !parser.expect("=") ||
          !parseSize(parser, axis)) {
        return false;
      }
      axis.name = name.str();
      axes.push_back(axis);
    } while (parser.consume(","));
    if (!parser.expect(")")) {
      return false;
    }
  }
  return parser.atEnd() || parser.fail("expected the end");
}

Expected<Grid> parseGrid(StringRef text) {
  Parser parser(text);
  SmallVector<GridAxis, 4> axes;
  if (!parseGridBody(parser, axes)) {
    return parser.takeError();
  }
  Grid grid(axes);
  if (std::optional<std::string> error = grid.verify()) {
    return createStringError(inconvertibleErrorCode(), *error);
  }
  return grid;
}

/// *  or  x.y  or  x{0:5, 3:8}
static bool parseDim(Parser &parser, AxisParser &axes, DimLayout &dim) {
  if (parser.consume("*")) {
    return true;
  }
  if (!axes.list(dim.axes, ".")) {
    return false;
  }
  if (!parser.consume("{")) {
    return true;
  }
  do {
    Interval bound;
    if (!parser.number(bound.begin, "the begin of an interval") ||
        !parser.expect(":") ||
        !parser.number(bound.end, "the end of an interval")) {
      return false;
    }
    dim.bounds.push_back(bound);
  } while (parser.consume(","));
  return parser.expect("}");
}

static bool parsePartial(Parser &parser, AxisParser &axes, Layout &layout) {
  StringRef name;
  if (!parser.word(name, "how the partial values combine")) {
    return false;
  }
  std::optional<ReduceKind> kind = parseReduceKind(name);
  if (!kind) {
    return parser.fail("unknown kind '" + name +
                       "', expected sum, prod, max, min, and, or,");
  }
  layout.partialKind = *kind;
  return parser.expect("{") && axes.list(layout.partialAxes, ",") &&
         parser.expect("}");
}

static bool parseLayoutBody(Parser &parser, const Grid &grid, Layout &layout) {
  AxisParser axes(parser, grid);
  if (!parser.expect("[")) {
    return false;
  }
  if (!parser.consume("]")) {
    do {
      layout.dims.emplace_back();
      if (!parseDim(parser, axes, layout.dims.back())) {
        return false;
      }
    } while (parser.consume(","));
    if (!parser.expect("]")) {
      return false;
    }
  }
  if (parser.consume("partial") && !parsePartial(parser, axes, layout)) {
    return false;
  }
  return parser.atEnd() || parser.fail("expected the end");
}

Expected<Layout> parseLayout(StringRef text, const Grid &grid) {
  Parser parser(text);
  Layout layout;
  if (!parseLayoutBody(parser, grid, layout)) {
    return parser.takeError();
  }
  llvm::sort(layout.partialAxes);
  return layout;
}

} // namespace divisi
