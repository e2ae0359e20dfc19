//===- WhyText.cpp - Answers to why, as text and JSON ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"
#include "VisibleNames.h"
#include "divisi/Report/Why.h"
#include "divisi/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace divisi;

/// So many alternatives of an item are printed; JSON has all.
static constexpr size_t kMostPrinted = 8;

static constexpr StringLiteral kLegend =
    R"(growth: increase of the plan's cost with that strategy, all else unchanged;
adapted: the same with the neighbouring choices optimized again; converting:
cost of the conversions at its operands and results; peak: of all tensors, on
the fullest device. * marks the plan's choice
)";

/// `made by merge of Divisi (reassociates), then slice-of-slice of ...`
static void printRules(const WhyItem &item, raw_ostream &os) {
  for (const rewrite::RuleRecord &named : item.rules) {
    rewrite::RuleRecord rule = withVisibleNames(named);
    os << (&named == &item.rules.front() ? "  made by " : ", then ")
       << rule.name << " of " << rule.file << " (" << rule.numericClass << ")";
  }
  os << (item.rules.empty() ? "" : "\n");
}

static void printRow(const WhyItem &item, raw_ostream &os) {
  ReportRow row = withVisibleNames(item.row);
  std::string split = splitText(row);
  os << row.op;
  if (!row.node.empty()) {
    os << " " << row.node;
  }
  if (!row.layer.empty()) {
    os << " of " << row.layer;
  }
  os << ", entry @" << row.entry;
  if (item.alike > 1) {
    os << "  (and " << item.alike - 1 << " alike)";
  }
  os << "\n  " << (row.isCollective() ? "over " : "split ")
     << (split.empty() ? "-" : split) << " on @" << row.grid << ": "
     << formatTime(row.nanoseconds) << ", ";
  if (row.isCollective()) {
    os << formatBytes(double(row.bytes))
       << " to the busiest device; it follows from the layouts on either side";
  } else {
    os << formatAmount(row.flops, "FLOP") << ", done by "
       << formatv("{0:F1}", row.replication) << " devices each";
  }
  os << "\n  " << layoutsText(row.operands) << " -> "
     << layoutsText(row.results) << "\n";
  printRules(item, os);
}

static void printTensor(const ReportTensor &named, raw_ostream &os) {
  ReportTensor tensor = withVisibleNames(named);
  os << tensor.kind << " " << tensor.name << " (";
  interleave(tensor.shape, os, "x");
  os << ")";
  if (!tensor.entry.empty()) {
    os << ", entry @" << tensor.entry;
  }
  os << "\n  stored as " << tensor.layout.str() << " on @" << tensor.grid
     << "\n";
}

static std::string growthText(std::optional<int64_t> growth) {
  return !growth        ? std::string("cannot be")
         : *growth == 0 ? std::string("0")
                        : (*growth > 0 ? "+" : "") + formatTime(*growth);
}

static void printAlternative(const Alternative &other, raw_ostream &os) {
  os << "  " << (other.isChosen ? "*" : " ")
     << right_justify(growthText(other.growth), 11)
     << right_justify(
            other.adaptedGrowth ? growthText(other.adaptedGrowth) : "", 11)
     << right_justify(formatTime(other.nanoseconds), 11)
     << right_justify(
            other.growth ? formatTime(other.conversionNanoseconds) : "", 12)
     << right_justify(formatBytes(double(other.bytes)), 12)
     << right_justify(formatBytes(double(other.peakBytes)), 12) << "  "
     << (other.strategy.empty() ? "-" : other.strategy)
     << (other.fits ? "" : "  (does not fit)") << "\n";
}

static void printAlternatives(const WhyItem &item, raw_ostream &os) {
  const std::vector<Alternative> &all = item.alternatives;
  os << "  " << right_justify("growth", 12) << right_justify("adapted", 11)
     << right_justify("time", 11) << right_justify("converting", 12)
     << right_justify("keeps", 12) << right_justify("peak", 12) << "  of "
     << all.size() << (all.size() == 1 ? " strategy" : " strategies") << "\n";
  size_t printed = 0;
  for (const Alternative &other : all) {
    if (printed < kMostPrinted || other.isChosen) {
      printAlternative(other, os);
      ++printed;
    }
  }
  if (printed < all.size()) {
    os << "    and " << all.size() - printed << " more, of larger growth\n";
  }
}

void divisi::printWhy(const WhyAnswer &answer, raw_ostream &os) {
  if (answer.unknown.empty()) {
    os << kLegend;
  } else {
    os << "alternatives are not known: " << answer.unknown << "\n";
  }
  for (const WhyItem &item : answer.items) {
    os << "\n";
    if (item.tensor.name.empty()) {
      printRow(item, os);
    } else {
      printTensor(item.tensor, os);
    }
    if (!item.alternatives.empty()) {
      printAlternatives(item, os);
    }
  }
  if (answer.leftOut > 0) {
    os << "\nand " << answer.leftOut
       << " more that take less time; name one of them\n";
  }
}

static json::Value toJSON(const Alternative &other) {
  return json::Object{{"strategy", other.strategy},
                      {"chosen", other.isChosen},
                      {"nanoseconds", other.nanoseconds},
                      {"conversion_nanoseconds",
                       other.growth ? json::Value(other.conversionNanoseconds)
                                    : json::Value(nullptr)},
                      {"growth", other.growth},
                      {"adapted_growth", other.adaptedGrowth},
                      {"bytes", other.bytes},
                      {"peak_bytes", other.peakBytes},
                      {"fits", other.fits}};
}

json::Value divisi::toJSON(const WhyAnswer &answer) {
  json::Array items;
  for (const WhyItem &item : answer.items) {
    json::Array alternatives;
    for (const Alternative &other : item.alternatives) {
      alternatives.push_back(::toJSON(other));
    }
    json::Object object{{"heading", item.heading},
                        {"alike", int64_t(item.alike)},
                        {"alternatives", std::move(alternatives)}};
    json::Array rules;
    for (const rewrite::RuleRecord &rule : item.rules) {
      rules.push_back(json::Object{{"name", rule.name},
                                   {"file", rule.file},
                                   {"class", rule.numericClass}});
    }
    object["rules"] = std::move(rules);
    if (item.tensor.name.empty()) {
      object["row"] = divisi::toJSON(item.row);
    } else {
      object["tensor"] = divisi::toJSON(item.tensor);
    }
    items.push_back(std::move(object));
  }
  return json::Object{{"schema_version", kReportSchemaVersion},
                      {"why", answer.name},
                      {"items", std::move(items)},
                      {"left_out", int64_t(answer.leftOut)},
                      {"unknown", answer.unknown}};
}
