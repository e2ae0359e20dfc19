//===- SolutionReader.cpp - Solutions out of JSON -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be read is no more than well-formed: whether it is true of a problem
// is check()'s to say, so that one place says it.
//
//===----------------------------------------------------------------------===//

#include "AncestorPotentials.h"
#include "PackedIntegers.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/JsonText.h"

#include "divisi/Search/SolutionIO.h"

#include <memory>

namespace divisi::search {

namespace {
class SolutionReader {
public:
  explicit SolutionReader(std::string_view text) : text_(text) {}
  Expected<SolutionFile> read();

private:
  using Value = JsonText::Value;
  using Member = JsonText::Member;

  /// An integer that the type of `out` holds.
  template <typename Integer> bool integer(Value value, Integer &out);
  template <typename Item, typename Read>
  bool items(Value value, std::vector<Item> &out, Read read);
  /// Any member of the kind that the type of `out` says.
  template <typename Integer>
  Member member(std::string_view key, bool required, Integer &out) {
    return {key, required, [&](Value value) { return integer(value, out); }};
  }
  Member member(std::string_view key, std::string &out) {
    return {key, false, [&](Value value) {
              std::string_view view;
              bool good = text_.string(value, view);
              out = view;
              return good;
            }};
  }
  Member member(std::string_view key, std::optional<Wide> &out) {
    return {key, false,
            [&](Value value) { return text_.wide(value, out.emplace()); }};
  }

  bool readVersion(Value value);
  bool readTraceEntry(Value value, TraceEntry &entry);
  bool readCertificate(Value value);
  bool readDeduction(Value value, Deduction &deduction);
  bool readPrice(Value value, MemoryPrice &price);
  bool readPeak(Value value, Peak &peak);
  bool readBound(Value value);

  JsonText text_;
  SolutionFile out_;
  std::optional<int64_t> newerVersion_;
};
} // namespace

template <typename Integer>
bool SolutionReader::integer(Value value, Integer &out) {
  Wide wide = 0;
  if (!text_.wide(value, wide)) {
    return false;
  }
  out = Integer(wide);
  if (Wide(out) == wide) {
    return true;
  }
  return text_.fail(text_.offset(value),
                    "expected an integer of " +
                        std::to_string(8 * sizeof(Integer)) +
                        (Integer(-1) < 0 ? " bits" : " bits without sign") +
                        ", got " + toString(wide));
}

template <typename Item, typename Read>
bool SolutionReader::items(Value value, std::vector<Item> &out, Read read) {
  return text_.list(value,
                    [&](Value item) { return read(item, out.emplace_back()); });
}

bool SolutionReader::readVersion(Value value) {
  int64_t version = 0;
  if (!integer(value, version)) {
    return false;
  }
  if (version == 1) {
    return true;
  }
  if (version > 1) {
    newerVersion_ = version;
  }
  return text_.fail(text_.offset(value),
                    "expected 1, got " + std::to_string(version));
}

bool SolutionReader::readTraceEntry(Value value, TraceEntry &entry) {
  Member members[] = {
      {"seconds", false,
       [&](Value item) { return text_.number(item, entry.seconds.emplace()); }},
      member("work", true, entry.work),
      member("cost", entry.cost),
      member("lower_bound", entry.lowerBound),
      member("by", entry.by)};
  return text_.object(value, members);
}

/// ["drop", v, w, s] or ["follow", v, w].
bool SolutionReader::readDeduction(Value value, Deduction &deduction) {
  uint32_t *numbers[] = {&deduction.variable, &deduction.other,
                         &deduction.state};
  uint32_t offset = text_.offset(value);
  size_t count = 0, expected = 4;
  auto readKind = [&](Value item) {
    std::string_view kind;
    if (!text_.string(item, kind)) {
      return false;
    }
    bool drops = kind == "drop";
    deduction.kind = drops ? Deduction::Kind::Drop : Deduction::Kind::Follow;
    expected = drops ? 4 : 3;
    return drops || kind == "follow" ||
           text_.fail(text_.offset(item), "expected \"drop\" or \"follow\"");
  };
  bool good = text_.list(value, [&](Value item) {
    size_t index = count++;
    if (index == 0) {
      return readKind(item);
    }
    return index < expected
               ? integer(item, *numbers[index - 1])
               : text_.fail(text_.offset(item), "the step has more than " +
                                                    std::to_string(expected) +
                                                    " elements");
  });
  if (good && count != expected) {
    return text_.fail(offset, "the step has " + std::to_string(count) +
                                  " elements, expected " +
                                  std::to_string(expected));
  }
  return good;
}

/// [time, price], or [time, price, resource].
bool SolutionReader::readPrice(Value value, MemoryPrice &price) {
  uint32_t offset = text_.offset(value);
  size_t count = 0;
  bool good = text_.list(value, [&](Value item) {
    switch (count++) {
    case 0:
      return integer(item, price.time);
    case 1:
      return integer(item, price.price);
    case 2:
      return integer(item, price.resource);
    default:
      return text_.fail(text_.offset(item),
                        "expected a time, a price and a resource, got more");
    }
  });
  return good && (count >= 2 ||
                  text_.fail(offset, "expected a time and a price, got less"));
}

/// [usage, time].
bool SolutionReader::readPeak(Value value, Peak &peak) {
  uint32_t offset = text_.offset(value);
  size_t count = 0;
  bool good = text_.list(value, [&](Value item) {
    ++count;
    return count == 1   ? text_.wide(item, peak.usage)
           : count == 2 ? integer(item, peak.time)
                        : text_.fail(text_.offset(item),
                                     "expected a usage and a time, got more");
  });
  return good && (count == 2 ||
                  text_.fail(offset, "expected a usage and a time, got less"));
}

/// Reads the next node of the tree. The parent may stand behind potentials that
/// are relative to its own, so they wait for the end of the object.
bool SolutionReader::readBound(Value value) {
  BoundNode &node = out_.solution.certificate.tree.emplace_back();
  std::string_view packed;
  uint32_t offset = 0;
  Member members[] = {
      member("parent", true, node.parent),
      member("variable", false, node.variable),
      {"kept", false,
       [&](Value item) {
         return items(item, node.kept, [&](Value state, uint32_t &out) {
           return integer(state, out);
         });
       }},
      {"fixes", false,
       [&](Value item) { return text_.boolean(item, node.fixes); }},
      {"prices", false,
       [&](Value item) {
         return items(item, node.prices, [&](Value price, MemoryPrice &out) {
           return readPrice(price, out);
         });
       }},
      {"potentials", false, [&](Value item) {
         offset = text_.offset(item);
         node.bounds = true;
         return text_.string(item, packed);
       }}};
  if (!text_.object(value, members)) {
    return false;
  }
  const std::vector<BoundNode> &tree = out_.solution.certificate.tree;
  std::string error;
  auto potentials =
      unpackIntegers(packed, potentialsAbove(tree, tree.size() - 1), error);
  if (!potentials) {
    return text_.fail(offset, error, "potentials");
  }
  node.potentials = std::move(*potentials);
  return true;
}

/// Nodes of the tree are read in order: potentials are relative to those of an
/// earlier one.
bool SolutionReader::readCertificate(Value value) {
  Certificate &certificate = out_.solution.certificate;
  Member members[] = {member("price_bits", true, certificate.priceBits),
                      member("potential_bits", true, certificate.potentialBits),
                      member("cutoff", certificate.cutoff),
                      {"steps", true,
                       [&](Value item) {
                         return items(item, certificate.deductions,
                                      [&](Value deduction, Deduction &out) {
                                        return readDeduction(deduction, out);
                                      });
                       }},
                      {"tree", true, [&](Value item) {
                         return text_.list(
                             item, [&](Value node) { return readBound(node); });
                       }}};
  return text_.object(value, members);
}

Expected<SolutionFile> SolutionReader::read() {
  Solution &solution = out_.solution;
  Member members[] = {
      {"schema_version", true, [&](Value item) { return readVersion(item); }},
      member("problem", out_.problem),
      member("solver", out_.solver),
      member("seed", false, out_.seed),
      member("stopped", out_.stopped),
      {"assignment", true,
       [&](Value item) {
         return items(
             item, solution.assignment,
             [&](Value state, uint32_t &out) { return integer(state, out); });
       }},
      member("cost", true, solution.cost),
      member("peak", true, solution.peak),
      member("peak_time", true, solution.peakTime),
      {"more_peaks", false,
       [&](Value item) {
         return items(item, solution.morePeaks, [&](Value peak, Peak &out) {
           return readPeak(peak, out);
         });
       }},
      member("lower_bound", true, solution.lowerBound),
      {"trace", false,
       [&](Value item) {
         return items(item, out_.trace, [&](Value entry, TraceEntry &out) {
           return readTraceEntry(entry, out);
         });
       }},
      {"certificate", false,
       [&](Value item) { return readCertificate(item); }}};
  if (text_.readRoot(members)) {
    return std::move(out_);
  }
  if (newerVersion_) {
    return Status(ExitCode::Version,
                  "the solution has schema version " +
                      std::to_string(*newerVersion_) +
                      ", this program reads 1; use a newer one");
  }
  return text_.status();
}

static Expected<SolutionFile> readText(const Expected<InputText> &text) {
  return text ? SolutionReader(text->text()).read() : text.status();
}

Expected<SolutionFile> readSolution(std::string_view json) {
  return readText(InputText::read(json));
}

Expected<SolutionFile> readSolutionFile(const std::string &path) {
  Expected<SolutionFile> file = readText(InputText::readFile(path));
  if (file || file.status().code() == ExitCode::File) {
    return file;
  }
  return Status(file.status().code(), path + ": " + file.status().message());
}

} // namespace divisi::search
