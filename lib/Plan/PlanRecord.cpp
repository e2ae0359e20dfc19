//===- PlanRecord.cpp - How a plan was found, and how good it is ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlanRecord.h"

#include "dialects/SPMD/SPMD.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace divisi;

static constexpr StringLiteral kPlanAttr = "divisi.plan";

/// The text of every attribute of the spmd dialect, in the order in which they
/// are printed: that of the program.
int64_t divisi::fingerprintOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (NamedAttribute attribute : op->getDiscardableAttrs()) {
      if (isa_and_nonnull<spmd::SPMDDialect>(attribute.getNameDialect())) {
        os << attribute.getName() << attribute.getValue();
      }
    }
    // Places of arguments and results stand in lists of their own.
    for (StringRef list : {"arg_attrs", "res_attrs"}) {
      if (Attribute attributes = op->getAttr(list)) {
        os << list << attributes;
      }
    }
    if (isa<spmd::GridOp>(op)) {
      os << op->getAttrDictionary();
    }
    os << '\n';
  });
  return static_cast<int64_t>(llvm::xxh3_64bits(text));
}

namespace {

/// Makes the attribute of each field.
class FieldWriter {
public:
  FieldWriter(NamedAttrList &list, Builder builder)
      : list_(list), builder_(builder) {}

  void operator()(StringRef name, const std::string &text) {
    list_.set(name, builder_.getStringAttr(text));
  }
  void operator()(StringRef name, int64_t number) {
    list_.set(name, builder_.getI64IntegerAttr(number));
  }
  void operator()(StringRef name, double number) {
    list_.set(name, builder_.getF64FloatAttr(number));
  }
  void operator()(StringRef name, bool flag) {
    list_.set(name, builder_.getBoolAttr(flag));
  }
  template <typename T>
  void operator()(StringRef name, const std::optional<T> &value) {
    if (value) {
      (*this)(name, *value);
    }
  }
  void operator()(StringRef name, const std::vector<int64_t> &numbers) {
    if (!numbers.empty()) {
      list_.set(name, builder_.getDenseI64ArrayAttr(numbers));
    }
  }

private:
  NamedAttrList &list_;
  Builder builder_;
};

/// Reads the attribute of each field, and remembers the first that is wrong.
class FieldReader {
public:
  FieldReader(DictionaryAttr attributes, std::string &wrong)
      : attributes_(attributes), wrong_(wrong) {}

  void operator()(StringRef name, std::string &text) {
    if (auto attribute = get<StringAttr>(name)) {
      text = attribute.str();
    }
  }
  void operator()(StringRef name, int64_t &number) {
    auto attribute = get<IntegerAttr>(name);
    if (attribute && attribute.getType().isSignlessInteger(64)) {
      number = attribute.getInt();
    } else {
      report(name);
    }
  }
  void operator()(StringRef name, double &number) {
    auto attribute = get<FloatAttr>(name);
    if (attribute && attribute.getType().isF64()) {
      number = attribute.getValueAsDouble();
    } else {
      report(name);
    }
  }
  void operator()(StringRef name, bool &flag) {
    if (auto attribute = get<BoolAttr>(name)) {
      flag = attribute.getValue();
    }
  }
  template <typename T>
  void operator()(StringRef name, std::optional<T> &value) {
    if (attributes_.contains(name)) {
      (*this)(name, value.emplace());
    }
  }
  void operator()(StringRef name, std::vector<int64_t> &numbers) {
    if (!attributes_.contains(name)) {
      return;
    }
    if (auto attribute = get<DenseI64ArrayAttr>(name)) {
      numbers = attribute.asArrayRef().vec();
    }
  }

private:
  template <typename Attr> Attr get(StringRef name) {
    auto attribute = attributes_.getAs<Attr>(name);
    if (!attribute) {
      report(name);
    }
    return attribute;
  }
  void report(StringRef name) {
    if (wrong_.empty()) {
      wrong_ = name.str();
    }
  }

  DictionaryAttr attributes_;
  std::string &wrong_;
};

} // namespace

static void writeRecord(ModuleOp module, const PlanRecord &record) {
  NamedAttrList list;
  Builder builder(module.getContext());
  forEachField(record, FieldWriter(list, builder));
  module->setAttr(kPlanAttr, list.getDictionary(module.getContext()));
}

void divisi::setPlanRecord(ModuleOp module, PlanRecord record) {
  record.fingerprint = fingerprintOf(module);
  writeRecord(module, record);
}

divisi::Expected<std::optional<PlanRecord>>
divisi::getPlanRecord(ModuleOp module) {
  Attribute attribute = module->getAttr(kPlanAttr);
  if (!attribute) {
    return std::optional<PlanRecord>();
  }
  PlanRecord record;
  std::string wrong = "cluster";
  if (auto attributes = dyn_cast<DictionaryAttr>(attribute)) {
    wrong.clear();
    forEachField(record, FieldReader(attributes, wrong));
  }
  if (!wrong.empty()) {
    return makeError(ExitCode::Invalid, kPlanAttr.str(), " has no '", wrong,
                     "' of the planner's type; if the attribute is removed, "
                     "reports do not say how the plan was found");
  }
  return std::optional<PlanRecord>(record);
}

std::string divisi::rolesText(ArrayRef<AxisRole> roles) {
  constexpr StringLiteral kNames[] = {"any", "data", "model"};
  std::string text;
  for (AxisRole role : roles) {
    text += (text.empty() ? "" : " ") + kNames[unsigned(role)].str();
  }
  return text;
}

SmallVector<AxisRole, 4> divisi::rolesFrom(StringRef text, size_t count) {
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, false);
  SmallVector<AxisRole, 4> roles;
  for (StringRef word : words) {
    roles.push_back(word == "data"    ? AxisRole::Data
                    : word == "model" ? AxisRole::Model
                                      : AxisRole::Any);
  }
  roles.resize(count, AxisRole::Any);
  return roles;
}

std::string divisi::describeGrids(const PlanRecord &record) {
  std::string text = record.grids == 1
                         ? "this grid"
                         : llvm::formatv("{0} grids of up to {1} axes",
                                         record.grids, record.maxAxes)
                               .str();
  if (record.gridsLeftOut) {
    text += ", not on " + std::to_string(*record.gridsLeftOut) +
            " others of which one seldom wins";
  }
  if (record.leavesUnlisted) {
    text += ", not on those in other orders, on other numbers of devices or "
            "with other weights";
  }
  bool isPartial = record.gridsLeftOut || record.leavesUnlisted;
  return text + (isPartial ? "," : "");
}

Status divisi::notePlanEdits(ModuleOp module) {
  divisi::Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  if (*record && !(*record)->edited &&
      (*record)->fingerprint != fingerprintOf(module)) {
    (*record)->edited = true;
    writeRecord(module, **record);
  }
  return Status();
}
