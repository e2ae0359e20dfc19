//===- SolutionWriter.cpp - Solutions as JSON -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AncestorPotentials.h"
#include "PackedIntegers.h"
#include "divisi/Support/JsonOutput.h"
#include "divisi/Support/OutputFile.h"

#include "divisi/Search/SolutionIO.h"

#include <cmath>

namespace divisi::search {

/// May take away what has been written: a certificate's text is large.
using Spill = std::function<void(std::string &)>;

namespace {
/// One object on one line: keys with what stands between them.
class ObjectWriter {
public:
  explicit ObjectWriter(std::string &out, const char *between = ", ")
      : out_(out), between_(between) {
    out_ += '{';
  }
  ~ObjectWriter() { out_ += '}'; }

  /// Begins the next member; its value follows.
  std::string &key(const char *name) {
    out_ += first_ ? "" : between_;
    first_ = false;
    writeJsonString(out_, name);
    out_ += ": ";
    return out_;
  }
  void text(const char *name, std::string_view value) {
    writeJsonString(key(name), value);
  }
  void integer(const char *name, Wide value) { key(name) += toString(value); }

private:
  std::string &out_;
  const char *between_;
  bool first_ = true;
};
} // namespace

static void writeDeductions(std::string &out,
                            const std::vector<Deduction> &deductions) {
  writeJsonList(out, deductions.size(), [&](size_t i) {
    const Deduction &deduction = deductions[i];
    bool drops = deduction.kind == Deduction::Kind::Drop;
    out += drops ? "[\"drop\", " : "[\"follow\", ";
    out += std::to_string(deduction.variable) + ", " +
           std::to_string(deduction.other);
    out += drops ? ", " + std::to_string(deduction.state) + "]" : "]";
  });
}

/// Says of a node only what it has: most have no prices, and the root has no
/// split.
static void writeBound(std::string &out, const std::vector<BoundNode> &tree,
                       size_t index) {
  const BoundNode &node = tree[index];
  ObjectWriter object(out);
  object.integer("parent", node.parent);
  if (index != 0 || node.variable != 0 || !node.kept.empty()) {
    object.integer("variable", node.variable);
    writeJsonList(object.key("kept"), node.kept.size(),
                  [&](size_t i) { out += std::to_string(node.kept[i]); });
  }
  if (node.fixes) {
    object.key("fixes") += "true";
  }
  if (!node.prices.empty()) {
    writeJsonList(object.key("prices"), node.prices.size(), [&](size_t i) {
      MemoryPrice price = node.prices[i];
      out +=
          '[' + std::to_string(price.time) + ", " +
          std::to_string(price.price) +
          (price.resource == 0 ? "" : ", " + std::to_string(price.resource)) +
          ']';
    });
  }
  // Their presence says that the node bounds, also where there is no pair.
  if (node.bounds) {
    object.key("potentials") += '"';
    packIntegers(out, node.potentials, potentialsAbove(tree, index));
    out += '"';
  }
}

/// A node of the tree may have megabytes of potentials, so what is written is
/// offered to `spill` after each.
static void writeCertificate(std::string &out, const Certificate &certificate,
                             const Spill &spill) {
  ObjectWriter object(out, ",\n    ");
  object.integer("price_bits", certificate.priceBits);
  object.integer("potential_bits", certificate.potentialBits);
  if (certificate.cutoff) {
    object.integer("cutoff", *certificate.cutoff);
  }
  writeDeductions(object.key("steps"), certificate.deductions);
  object.key("tree") += '[';
  for (size_t i = 0; i != certificate.tree.size(); ++i) {
    out += i == 0 ? "\n      " : ",\n      ";
    writeBound(out, certificate.tree, i);
    spill(out);
  }
  out += ']';
}

static void writeTraceEntry(std::string &out, const TraceEntry &entry) {
  ObjectWriter object(out);
  // JSON has no infinity.
  if (entry.seconds && std::isfinite(*entry.seconds)) {
    writeJsonDouble(object.key("seconds"), *entry.seconds);
  }
  object.integer("work", entry.work);
  if (entry.cost) {
    object.integer("cost", *entry.cost);
  }
  if (entry.lowerBound) {
    object.integer("lower_bound", *entry.lowerBound);
  }
  object.text("by", entry.by);
}

/// For people: readers compute it anew.
static void writeGap(ObjectWriter &object, const Solution &solution) {
  double cost = double(solution.cost);
  double gap = cost - double(solution.lowerBound);
  if (gap != 0 && cost != 0) {
    gap /= std::abs(cost);
  }
  writeJsonDouble(object.key("gap"), gap);
  object.text("gap_of", "the declared strategies");
}

/// The keys in the order of SolutionIO.h.
static void write(const SolutionFile &file, std::string &out,
                  const Spill &spill) {
  const Solution &solution = file.solution;
  {
    ObjectWriter object(out, ",\n  ");
    object.integer("schema_version", 1);
    object.text("problem", file.problem);
    object.text("solver", file.solver);
    object.integer("seed", Wide(file.seed));
    object.text("stopped", file.stopped);
    writeJsonList(
        object.key("assignment"), solution.assignment.size(),
        [&](size_t i) { out += std::to_string(solution.assignment[i]); });
    object.integer("cost", solution.cost);
    object.integer("peak", solution.peak);
    object.integer("peak_time", solution.peakTime);
    if (!solution.morePeaks.empty()) {
      writeJsonList(object.key("more_peaks"), solution.morePeaks.size(),
                    [&](size_t i) {
                      const Peak &peak = solution.morePeaks[i];
                      out += '[' + toString(peak.usage) + ", " +
                             std::to_string(peak.time) + ']';
                    });
    }
    object.integer("lower_bound", solution.lowerBound);
    writeGap(object, solution);
    object.key("trace") += '[';
    for (size_t i = 0; i != file.trace.size(); ++i) {
      out += i == 0 ? "\n    " : ",\n    ";
      writeTraceEntry(out, file.trace[i]);
    }
    out += ']';
    if (solution.certificate != Certificate()) {
      writeCertificate(object.key("certificate"), solution.certificate, spill);
    }
  }
  out += '\n';
}

std::string writeSolution(const SolutionFile &file) {
  std::string out;
  write(file, out, [](std::string &) {});
  return out;
}

Status writeSolutionFile(const std::string &path, const SolutionFile &file) {
  return writeFile(path, [&](const Put &put) {
    std::string out;
    write(file, out, [&](std::string &written) {
      put(written);
      written.clear();
    });
    put(out);
  });
}

} // namespace divisi::search
