//===- BitTables.cpp - Bits of integers -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/ScalarFunctions.h"

#include <map>

using namespace divisi::rewrite;

static const Sum &one() {
  static const Sum number(Fraction{1, 1});
  return number;
}

namespace {

/// A function of the bits at one place of several integers. Bit i of the table
/// is what it gives where the bits of i are those of the integers.
struct BitTable {
  static constexpr size_t kMost = 5;
  std::vector<Sum> of; ///< Ascending by their keys.
  uint32_t table = 0;

  uint32_t bits() const { return uint32_t(1) << of.size(); }
  bool at(uint32_t place) const { return table >> place & 1; }
  BitTable inverted() const {
    BitTable result = *this;
    result.table = ~table & uint32_t((uint64_t(1) << bits()) - 1);
    return result;
  }
};

} // namespace

/// In two's complement the inverse of x is -1 - x.
static Sum inverseBits(const Sum &x) { return Sum() - one() - x; }

static std::string bitsName(const std::string &type) {
  return typedName("bits", type);
}

static BitTable tableOf(const std::string &type, const Sum &x) {
  if (x.terms.empty()) {
    return {};
  }
  for (bool isInverse : {false, true}) {
    Sum sum = isInverse ? inverseBits(x) : x;
    if (sum.terms.empty()) {
      return BitTable().inverted();
    }
    FactorRef factor = sum.factor();
    if (factor && factor->isFunction(bitsName(type))) {
      BitTable result{factor->operands,
                      uint32_t(*factor->integers[0].number())};
      return isInverse ? result.inverted() : result;
    }
  }
  Sum inverse = inverseBits(x);
  bool isInverse = inverse.key() < x.key();
  return {{isInverse ? inverse : x}, isInverse ? 1u : 2u};
}

/// The table over more integers.
static uint32_t widened(const BitTable &from, const std::vector<Sum> &of) {
  uint32_t table = 0;
  for (uint32_t place = 0; place != uint32_t(1) << of.size(); ++place) {
    uint32_t inner = 0;
    for (size_t i = 0; i != from.of.size(); ++i) {
      for (size_t j = 0; j != of.size(); ++j) {
        if (of[j].key() == from.of[i].key()) {
          inner |= (place >> j & 1) << i;
        }
      }
    }
    table |= uint32_t(from.at(inner)) << place;
  }
  return table;
}

/// Without the integers that make no difference.
static BitTable reduced(BitTable table) {
  for (size_t i = table.of.size(); i-- != 0;) {
    uint32_t bit = uint32_t(1) << i, rest = 0, count = 0;
    bool matters = false;
    for (uint32_t place = 0; place != table.bits(); ++place) {
      if ((place & bit) == 0) {
        matters |= table.at(place) != table.at(place | bit);
        rest |= uint32_t(table.at(place)) << count++;
      }
    }
    if (!matters) {
      table.of.erase(table.of.begin() + long(i));
      table.table = rest;
    }
  }
  return table;
}

static Sum sumOf(const std::string &type, const BitTable &table) {
  if (table.at(0)) {
    return inverseBits(sumOf(type, table.inverted()));
  }
  if (table.table == 0) {
    return Sum();
  }
  if (table.of.size() == 1) {
    return table.of[0];
  }
  return functionOf(bitsName(type), table.of,
                    {Polynomial(int64_t(table.table))});
}

std::optional<Sum> divisi::rewrite::bitsOf(const std::string &op,
                                           const std::string &type,
                                           const std::vector<Sum> &x) {
  std::map<std::string, Sum> all;
  std::vector<BitTable> tables;
  for (const Sum &operand : x) {
    tables.push_back(tableOf(type, operand));
    for (const Sum &each : tables.back().of) {
      all.emplace(each.key(), each);
    }
  }
  if (all.size() > BitTable::kMost) {
    return std::nullopt;
  }
  BitTable result;
  for (const auto &[key, each] : all) {
    result.of.push_back(each);
  }
  uint32_t left = widened(tables[0], result.of);
  uint32_t right = x.size() == 2 ? widened(tables[1], result.of) : 0;
  result.table = op == "and"   ? left & right
                 : op == "or"  ? left | right
                 : op == "xor" ? left ^ right
                               : left;
  return sumOf(type, reduced(op == "not" ? result.inverted() : result));
}
