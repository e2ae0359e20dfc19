//===- Attributes.h - An operator's attributes at run time ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes of an `nn` operator as plain data: integers (also booleans),
// floats, strings (also enumerations, by their printed name), lists of integers
// or floats.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_ATTRIBUTES_H
#define DIVISI_RUNTIME_KERNELS_ATTRIBUTES_H

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace divisi::rt {

/// What an attribute may hold: artifacts know these five types.
using Attribute = std::variant<int64_t, double, std::string,
                               std::vector<int64_t>, std::vector<double>>;

/// Name → value, ordered by name.
class Attributes {
public:
  Attributes() = default;
  /// The given ones; of a name that stands twice the first.
  Attributes(
      std::initializer_list<std::pair<const std::string, Attribute>> values)
      : values_(values) {}

  /// Gives `name` the value, whether it has one or not.
  void set(const std::string &name, Attribute value) {
    values_[name] = std::move(value);
  }
  /// All of them, by name.
  const std::map<std::string, Attribute> &values() const { return values_; }

  /// The value of `name` if it is there and of that type, else null.
  template <typename T> const T *find(const std::string &name) const {
    auto it = values_.find(name);
    return it == values_.end() ? nullptr : std::get_if<T>(&it->second);
  }
  /// The value of `name`, or `fallback`. The artifact's loader has checked the
  /// presence and type of what a kernel declares as required.
  int64_t getInt(const std::string &name, int64_t fallback = 0) const {
    const auto *value = find<int64_t>(name);
    return value ? *value : fallback;
  }
  /// The same of a float.
  double getFloat(const std::string &name, double fallback = 0) const {
    const auto *value = find<double>(name);
    return value ? *value : fallback;
  }
  /// The same of a string, with the empty one to fall back on.
  std::string getString(const std::string &name) const {
    const auto *value = find<std::string>(name);
    return value ? *value : std::string();
  }
  /// The same of a list of integers, with the empty one.
  std::vector<int64_t> getInts(const std::string &name) const {
    const auto *value = find<std::vector<int64_t>>(name);
    return value ? *value : std::vector<int64_t>();
  }
  /// The same of a list of floats, with the empty one.
  std::vector<double> getFloats(const std::string &name) const {
    const auto *value = find<std::vector<double>>(name);
    return value ? *value : std::vector<double>();
  }

private:
  std::map<std::string, Attribute> values_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ATTRIBUTES_H
