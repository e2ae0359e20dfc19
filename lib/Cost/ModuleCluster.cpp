//===- ModuleCluster.cpp - The cluster a module was planned for -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/ModuleCluster.h"

#include "divisi/Cluster/ClusterFields.h"

#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;

namespace divisi {

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Attribute toAttribute(Builder &builder, const std::string &text) {
  return builder.getStringAttr(text);
}
static Attribute toAttribute(Builder &builder, int64_t number) {
  return builder.getI64IntegerAttr(number);
}
static Attribute toAttribute(Builder &builder, double number) {
  return builder.getF64FloatAttr(number);
}
static Attribute toAttribute(Builder &builder, bool flag) {
  return builder.getBoolAttr(flag);
}
static Attribute toAttribute(Builder &builder, Transport transport) {
  return builder.getStringAttr(kTransportNames[unsigned(transport)]);
}
static Attribute toAttribute(Builder &builder, Collective collective) {
  return builder.getStringAttr(kCollectiveNames[unsigned(collective)]);
}

template <ClusterPart T>
static Attribute toAttribute(Builder &builder, const T &whole);

template <typename T, unsigned N>
static Attribute toAttribute(Builder &builder,
                             const llvm::SmallVector<T, N> &list) {
  SmallVector<Attribute> items;
  for (const T &item : list) {
    items.push_back(toAttribute(builder, item));
  }
  return builder.getArrayAttr(items);
}

static bool isNothing(const auto &member) {
  if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(member)>>) {
    return member == 0;
  } else if constexpr (requires { member.empty(); }) {
    return member.empty();
  }
  return false;
}

/// What is 0 or empty and may be missing is not written.
template <ClusterPart T>
static Attribute toAttribute(Builder &builder, const T &whole) {
  NamedAttrList fields;
  forEachField(whole,
               [&](StringRef name, const auto &member, bool mayBeMissing) {
                 if (!mayBeMissing || !isNothing(member)) {
                   fields.append(name, toAttribute(builder, member));
                 }
               });
  return fields.getDictionary(builder.getContext());
}

void setCluster(ModuleOp module, const Cluster &cluster) {
  Builder builder(module.getContext());
  module->setAttr(kClusterAttr, toAttribute(builder, cluster));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool fromAttribute(Attribute attribute, std::string &text) {
  auto string = dyn_cast<StringAttr>(attribute);
  text = string ? string.str() : "";
  return bool(string);
}
static bool fromAttribute(Attribute attribute, int64_t &number) {
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer || !integer.getType().isSignlessInteger(64)) {
    return false;
  }
  number = integer.getInt();
  return true;
}
static bool fromAttribute(Attribute attribute, double &number) {
  auto real = dyn_cast<FloatAttr>(attribute);
  number = real ? real.getValueAsDouble() : 0;
  return bool(real);
}
static bool fromAttribute(Attribute attribute, bool &flag) {
  auto boolean = dyn_cast<BoolAttr>(attribute);
  flag = boolean && boolean.getValue();
  return bool(boolean);
}

/// A word of `names`, as its number.
template <typename Enum>
static bool fromWord(Attribute attribute, ArrayRef<StringLiteral> names,
                     Enum &number) {
  auto string = dyn_cast<StringAttr>(attribute);
  const auto *known =
      string ? llvm::find(names, string.getValue()) : names.end();
  number = Enum(known - names.begin());
  return known != names.end();
}
static bool fromAttribute(Attribute attribute, Transport &transport) {
  return fromWord(attribute, kTransportNames, transport);
}
static bool fromAttribute(Attribute attribute, Collective &collective) {
  return fromWord(attribute, kCollectiveNames, collective);
}

template <ClusterPart T>
static bool fromAttribute(Attribute attribute, T &whole);

template <typename T, unsigned N>
static bool fromAttribute(Attribute attribute, llvm::SmallVector<T, N> &list) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  return array && llvm::all_of(array, [&](Attribute item) {
           return fromAttribute(item, list.emplace_back());
         });
}

template <ClusterPart T>
static bool fromAttribute(Attribute attribute, T &whole) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  bool isRight = bool(fields);
  size_t found = 0;
  if (isRight) {
    forEachField(whole, [&](StringRef name, auto &member, bool mayBeMissing) {
      if (Attribute field = fields.get(name)) {
        isRight &= fromAttribute(field, member);
        ++found;
      } else {
        isRight &= mayBeMissing;
      }
    });
  }
  return isRight && found == fields.size();
}

Expected<Cluster> getCluster(ModuleOp module) {
  Attribute attribute = module->getAttr(kClusterAttr);
  if (!attribute) {
    // A plan that someone wrote by hand.
    return presetCluster("cpu", countDevices(module));
  }
  Cluster cluster;
  if (!fromAttribute(attribute, cluster)) {
    return Status(
        ExitCode::Invalid,
        "the module's attribute '" + kClusterAttr.str() +
            "' is not in the planner's format; remove it, or plan again");
  }
  if (Status status = verifyCluster(cluster); !status.isOk()) {
    return status.in("the module's attribute '" + kClusterAttr.str() + "'");
  }
  return cluster;
}

GridLinks linksOf(spmd::GridOp grid, const Cluster &cluster) {
  return GridLinks(cluster, grid.getValue(), grid.getDeviceIds());
}

int64_t countDevices(ModuleOp module) {
  int64_t devices = 1;
  for (auto grid : module.getOps<spmd::GridOp>()) {
    for (int64_t device : grid.getDeviceIds()) {
      devices = std::max(devices, device + 1);
    }
  }
  return devices;
}

int64_t countUsedDevices(ModuleOp module) {
  std::set<int64_t> devices;
  for (auto grid : module.getOps<spmd::GridOp>()) {
    for (int64_t device : grid.getDeviceIds()) {
      devices.insert(device);
    }
  }
  return std::max<int64_t>(1, int64_t(devices.size()));
}

} // namespace divisi
