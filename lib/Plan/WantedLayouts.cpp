//===- WantedLayouts.cpp - Layouts that operators have to have ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/WantedLayouts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace divisi;

static StringRef nameOf(ModelValue::Kind kind) {
  switch (kind) {
  case ModelValue::Kind::Input:
    return "input";
  case ModelValue::Kind::Global:
    return "global";
  case ModelValue::Kind::Output:
    return "output";
  }
  return "";
}

Attribute WantedTensor::attribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> all;
  for (const auto &factors : dims) {
    SmallVector<Attribute> dim;
    for (const WantedFactor &factor : factors) {
      dim.push_back(builder.getArrayAttr(
          {builder.getI64IntegerAttr(factor.extent),
           builder.getStringAttr(llvm::join(factor.axes, "."))}));
    }
    all.push_back(builder.getArrayAttr(dim));
  }
  NamedAttrList fields;
  fields.set("kind", builder.getStringAttr(nameOf(value.kind)));
  fields.set("name", builder.getStringAttr(value.name));
  fields.set("number", builder.getI64IntegerAttr(value.number));
  fields.set("count", builder.getI64IntegerAttr(value.count));
  fields.set("tensor", builder.getStringAttr(tensor));
  fields.set("dims", builder.getArrayAttr(all));
  return fields.getDictionary(context);
}

static std::optional<WantedFactor> readFactor(Attribute attribute) {
  auto pair = dyn_cast<ArrayAttr>(attribute);
  auto extent =
      pair && pair.size() == 2 ? dyn_cast<IntegerAttr>(pair[0]) : IntegerAttr();
  auto axes = extent ? dyn_cast<StringAttr>(pair[1]) : StringAttr();
  if (!axes || extent.getInt() < 1) {
    return std::nullopt;
  }
  WantedFactor factor{extent.getInt(), {}};
  for (StringRef axis : llvm::split(axes.getValue(), '.')) {
    if (!axis.empty()) {
      factor.axes.push_back(axis.str());
    }
  }
  return factor;
}

static std::optional<WantedTensor> readTensor(Attribute attribute) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  auto text = [&](StringRef name) {
    auto found = fields ? fields.getAs<StringAttr>(name) : StringAttr();
    return found ? found.getValue().str() : "";
  };
  auto number = [&](StringRef name) {
    auto found = fields ? fields.getAs<IntegerAttr>(name) : IntegerAttr();
    return found ? unsigned(found.getInt()) : 0;
  };
  auto dims = fields ? fields.getAs<ArrayAttr>("dims") : ArrayAttr();
  if (!dims) {
    return std::nullopt;
  }
  WantedTensor tensor;
  tensor.tensor = text("tensor");
  tensor.value = {llvm::StringSwitch<ModelValue::Kind>(text("kind"))
                      .Case("input", ModelValue::Kind::Input)
                      .Case("global", ModelValue::Kind::Global)
                      .Default(ModelValue::Kind::Output),
                  text("name"), number("number"), number("count")};
  for (Attribute dim : dims) {
    auto factors = dyn_cast<ArrayAttr>(dim);
    auto &read = tensor.dims.emplace_back();
    for (Attribute each :
         factors ? factors.getValue() : ArrayRef<Attribute>()) {
      std::optional<WantedFactor> factor = readFactor(each);
      if (!factor) {
        return std::nullopt;
      }
      read.push_back(std::move(*factor));
    }
  }
  return tensor;
}

std::map<std::string, WantedNode> divisi::wantedNodes(ModuleOp module) {
  std::map<std::string, WantedNode> wanted;
  auto all = module->getAttrOfType<DictionaryAttr>(kShardingsAttr);
  auto nodes = all ? all.getAs<ArrayAttr>("nodes") : ArrayAttr();
  for (Attribute each : nodes ? nodes.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(each);
    auto name = fields ? fields.getAs<StringAttr>("node") : StringAttr();
    auto tensors = fields ? fields.getAs<ArrayAttr>("tensors") : ArrayAttr();
    if (!name) {
      continue;
    }
    WantedNode &node = wanted[name.getValue().str()];
    if (auto stage = fields.getAs<IntegerAttr>("stage")) {
      node.stage = stage.getInt();
    }
    for (Attribute each :
         tensors ? tensors.getValue() : ArrayRef<Attribute>()) {
      if (std::optional<WantedTensor> tensor = readTensor(each)) {
        node.tensors.push_back(std::move(*tensor));
      }
    }
  }
  return wanted;
}
