//===- Answers.cpp - What kernels have said of calls ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Answers.h"

#include <map>
#include <mutex>

namespace divisi::rt::cpu {
namespace {

/// Writes values one after the other, lists behind their length.
class KeyWriter {
public:
  std::string key;

  void add(int64_t value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void add(double value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void add(std::string_view text) {
    add(int64_t(text.size()));
    key += text;
  }
  template <typename T> void add(const std::vector<T> &values) {
    add(int64_t(values.size()));
    for (T value : values) {
      add(value);
    }
  }
  void add(const std::vector<int> &values) {
    add(std::vector<int64_t>(values.begin(), values.end()));
  }
  void add(const Attributes &attributes) {
    add(int64_t(attributes.values().size()));
    for (const auto &[name, value] : attributes.values()) {
      add(name);
      add(int64_t(value.index()));
      std::visit([this](const auto &held) { add(held); }, value);
    }
  }
  void add(const std::string &text) { add(std::string_view(text)); }
  void add(std::span<const TensorInfo> infos) {
    add(int64_t(infos.size()));
    for (const TensorInfo &info : infos) {
      add(int64_t(info.type));
      add(info.extents);
      add(info.offset);
      add(info.global);
      add(info.format);
    }
  }
};

} // namespace

std::string keyOf(const CallSite &site) {
  KeyWriter writer;
  writer.add(site.op);
  writer.add(site.attributes);
  writer.add(site.operands);
  writer.add(site.results);
  writer.add(int64_t(site.constants.size()));
  for (const Constant &constant : site.constants) {
    writer.add(int64_t(bool(constant)));
  }
  writer.add(int64_t(site.threads));
  writer.add(int64_t(site.checksIndices));
  if (site.region) {
    for (const RegionPart &part : site.region->parts) {
      writer.add(part.op);
      writer.add(int64_t(part.version));
      writer.add(part.attributes);
      writer.add(part.operands);
      writer.add(std::span<const TensorInfo>(part.results));
    }
    writer.add(site.region->results);
  }
  return std::move(writer.key);
}

namespace {

/// By kernel and call, what was said.
struct KnownAnswers {
  static constexpr size_t mostOfKernel = 10000;
  std::mutex mutex;
  std::map<AskKernel, std::map<std::string, std::optional<KernelQuery>>> all;
};

} // namespace

std::optional<KernelQuery> answerOf(const CallSite &site, AskKernel ask) {
  static KnownAnswers known;
  std::string key = keyOf(site);
  {
    std::lock_guard lock(known.mutex);
    auto &own = known.all[ask];
    if (auto found = own.find(key); found != own.end()) {
      return found->second;
    }
  }
  std::optional<KernelQuery> answer = ask(site);
  std::lock_guard lock(known.mutex);
  auto &own = known.all[ask];
  if (own.size() >= KnownAnswers::mostOfKernel) {
    own.clear();
  }
  own.emplace(std::move(key), answer);
  return answer;
}

} // namespace divisi::rt::cpu
