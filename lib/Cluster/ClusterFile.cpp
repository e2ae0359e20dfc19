//===- ClusterFile.cpp - Clusters as YAML ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/ClusterFile.h"

#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Support/InputText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>

using namespace divisi;

namespace {
/// A number in as few digits as tell it from all others.
struct Exact {
  double value = 0;
};
} // namespace

LLVM_YAML_IS_SEQUENCE_VECTOR(DeviceGroup)
LLVM_YAML_IS_SEQUENCE_VECTOR(LinkLevel)
LLVM_YAML_IS_SEQUENCE_VECTOR(MeasuredRate)

namespace llvm::yaml {

template <> struct ScalarTraits<Exact> {
  static void output(const Exact &number, void *, raw_ostream &os) {
    char text[32];
    auto end = std::to_chars(text, std::end(text), number.value).ptr;
    os << StringRef(text, size_t(end - text));
  }
  static StringRef input(StringRef text, void *, Exact &number) {
    return to_float(text, number.value) ? "" : "expected a number";
  }
  static QuotingType mustQuote(StringRef) { return QuotingType::None; }
};

template <> struct ScalarEnumerationTraits<Transport> {
  static void enumeration(IO &io, Transport &transport) {
    for (auto [number, name] : enumerate(kTransportNames)) {
      io.enumCase(transport, name.data(), Transport(number));
    }
  }
};
template <> struct ScalarEnumerationTraits<Collective> {
  static void enumeration(IO &io, Collective &collective) {
    for (auto [number, name] : enumerate(kCollectiveNames)) {
      io.enumCase(collective, name.data(), Collective(number));
    }
  }
};

} // namespace llvm::yaml

/// One member, by its type.
template <typename T>
static void mapField(llvm::yaml::IO &io, const char *name, T &member,
                     bool mayBeMissing) {
  auto map = [&](auto &value) {
    mayBeMissing ? io.mapOptional(name, value) : io.mapRequired(name, value);
  };
  if constexpr (std::is_same_v<T, double>) {
    Exact exact{member};
    map(exact);
    member = exact.value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    // What is not stated is not written.
    mayBeMissing ? io.mapOptional(name, member, std::string())
                 : io.mapRequired(name, member);
  } else {
    map(member);
  }
}

template <typename T> static void mapFields(llvm::yaml::IO &io, T &whole) {
  forEachField(whole, [&](const char *name, auto &member, bool mayBeMissing) {
    mapField(io, name, member, mayBeMissing);
  });
}

namespace llvm::yaml {

template <> struct MappingTraits<PeakRates> {
  static void mapping(IO &io, PeakRates &peaks) { mapFields(io, peaks); }
  static const bool flow = true;
};
template <> struct MappingTraits<DeviceGroup> {
  static void mapping(IO &io, DeviceGroup &group) { mapFields(io, group); }
};
template <> struct MappingTraits<MeasuredRate> {
  static void mapping(IO &io, MeasuredRate &point) { mapFields(io, point); }
  static const bool flow = true;
};
template <> struct MappingTraits<LinkLevel> {
  static void mapping(IO &io, LinkLevel &level) { mapFields(io, level); }
};
template <> struct MappingTraits<Cluster> {
  static void mapping(IO &io, Cluster &cluster) {
    SmallVector<std::pair<const char *, bool>, 3> unused;
    std::vector<DeviceGroup> devices(cluster.devices.begin(),
                                     cluster.devices.end());
    std::vector<LinkLevel> levels(cluster.levels.begin(), cluster.levels.end());
    forEachField(cluster, [&](const char *name, auto &member, bool mayMiss) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, std::string>) {
        mapField(io, name, member, mayMiss);
      } else if constexpr (std::is_same_v<typename Member::value_type,
                                          LinkLevel>) {
        mapField(io, name, levels, mayMiss);
      } else {
        mapField(io, name, devices, mayMiss);
      }
    });
    cluster.devices.assign(devices.begin(), devices.end());
    cluster.levels.assign(levels.begin(), levels.end());
  }
};

} // namespace llvm::yaml

/// How deep lists and mappings of a description may be nested: LLVM's reader
/// recurses into each.
static constexpr int kMostYAMLDepth = 16;

/// Whether no more than `depth` nodes are nested in `node`, which is parsed as
/// far as that takes.
static bool isWithin(llvm::yaml::Node *node, int depth) {
  if (!node || depth < 0) {
    return depth >= 0;
  }
  if (auto *list = llvm::dyn_cast<llvm::yaml::SequenceNode>(node)) {
    for (llvm::yaml::Node &item : *list) {
      if (!isWithin(&item, depth - 1)) {
        return false;
      }
    }
  } else if (auto *mapping = llvm::dyn_cast<llvm::yaml::MappingNode>(node)) {
    for (llvm::yaml::KeyValueNode &pair : *mapping) {
      if (!isWithin(pair.getKey(), depth - 1) ||
          !isWithin(pair.getValue(), depth - 1)) {
        return false;
      }
    }
  }
  return true;
}

/// Errors are left to who reads the text.
static Status checkYAMLDepth(llvm::StringRef text) {
  llvm::SourceMgr sources;
  sources.setDiagHandler([](const llvm::SMDiagnostic &, void *) {});
  llvm::yaml::Stream stream(text, sources);
  auto document = stream.begin();
  return document == stream.end() ||
                 isWithin(document->getRoot(), kMostYAMLDepth)
             ? Status()
             : makeError(ExitCode::Invalid,
                         "lists and mappings are nested more than ",
                         kMostYAMLDepth, " deep");
}

namespace divisi {

Expected<Cluster> parseClusterYAML(llvm::StringRef text) {
  if (Status status = checkYAMLDepth(text); !status.isOk()) {
    return status;
  }
  std::string error;
  llvm::yaml::Input input(
      text, nullptr,
      [](const llvm::SMDiagnostic &diagnostic, void *context) {
        auto &first = *static_cast<std::string *>(context);
        if (first.empty()) {
          first = "line " + std::to_string(diagnostic.getLineNo()) + ": " +
                  diagnostic.getMessage().str();
        }
      },
      &error);
  Cluster cluster;
  input >> cluster;
  if (input.error()) {
    return Status(ExitCode::Invalid,
                  error.empty() ? "the file has no cluster" : error);
  }
  if (Status status = verifyCluster(cluster); !status.isOk()) {
    return status;
  }
  return cluster;
}

void printClusterYAML(const Cluster &cluster, llvm::raw_ostream &os) {
  llvm::yaml::Output output(os);
  Cluster copy = cluster; // It maps members both ways.
  output << copy;
}

/// No cluster takes more to describe.
static constexpr size_t kMostYAML = size_t(1) << 20;

static Expected<Cluster> readClusterFile(const std::string &path) {
  Expected<InputText> file = InputText::readFile(path);
  if (!file) {
    return file.status();
  }
  if (file->text().size() > kMostYAML) {
    return makeError(ExitCode::Invalid, "the cluster '", path, "' has ",
                     file->text().size(), " bytes, expected at most ",
                     kMostYAML);
  }
  Expected<Cluster> cluster = parseClusterYAML(file->text());
  return cluster ? std::move(cluster)
                 : Expected<Cluster>(
                       cluster.status().in("the cluster '" + path + "'"));
}

static Status noSuchCount(llvm::StringRef spec) {
  return Status(ExitCode::Usage, "the cluster '" + spec.str() +
                                     "' needs a number of devices between 1 "
                                     "and 4096; write for example cpu:4");
}

/// What looks like a path is one: presets have neither dots nor slashes.
Expected<Cluster> findCluster(llvm::StringRef spec) {
  if (spec.find_first_of("./") != llvm::StringRef::npos) {
    return readClusterFile(spec.str());
  }
  auto [name, number] = spec.split(':');
  int64_t count = 0;
  bool isCounted = !number.getAsInteger(10, count);
  if (!isCounted && llvm::is_contained(clusterPresets(), name)) {
    return noSuchCount(spec);
  }
  return presetCluster(name, count);
}

} // namespace divisi
