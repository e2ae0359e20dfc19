//===- CheckpointManifest.cpp - Reading the manifest of a checkpoint ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/Checkpoint.h"
#include "runtime/training/CheckpointFolder.h"

#include "divisi/Support/ElementBytes.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/JsonText.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Sha256.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace divisi;
using namespace divisi::rt;

using Value = JsonText::Value;

/// No tensor has more dimensions.
static constexpr size_t kMostDims = 64;

namespace divisi::rt {

/// Reads the text of a manifest.
class ManifestReader {
public:
  ManifestReader(std::string_view text, Checkpoint &into)
      : json_(text), into_(into) {}

  Status read();

private:
  bool readTensor(Value value);
  bool readBox(Value value, StoredTensor &tensor);
  bool readFrozen(Value value);
  bool readDims(Value value, Dims &dims);
  bool readText(Value value, std::string &text);
  bool readHash(Value value, std::string &hash);
  bool readCount(Value value, int64_t &count);
  bool readSeed(Value value);
  bool readFile(Value value, size_t &file);
  bool checkBox(const StoredTensor &tensor, const StoredBox &stored,
                size_t offset);

  JsonText json_;
  Checkpoint &into_;
  std::set<std::string> names_;
  int64_t version_ = 0;
};

} // namespace divisi::rt

bool ManifestReader::readText(Value value, std::string &text) {
  std::string_view view;
  if (!json_.string(value, view)) {
    return false;
  }
  text = view;
  return true;
}

bool ManifestReader::readHash(Value value, std::string &hash) {
  size_t offset = json_.offset(value);
  if (!readText(value, hash)) {
    return false;
  }
  bool isHash = hash.size() == kHashDigits &&
                hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  return isHash || json_.fail(offset, "expected 64 hexadecimal digits");
}

bool ManifestReader::readCount(Value value, int64_t &count) {
  size_t offset = json_.offset(value);
  return json_.integer(value, count) &&
         (count >= 0 || json_.fail(offset, "expected no negative number"));
}

bool ManifestReader::readDims(Value value, Dims &dims) {
  size_t offset = json_.offset(value);
  return json_.list(value, [&](Value element) {
    dims.push_back(0);
    return dims.size() <= kMostDims
               ? readCount(element, dims.back())
               : json_.fail(offset, "expected at most 64 dimensions");
  });
}

bool ManifestReader::readSeed(Value value) {
  size_t offset = json_.offset(value);
  std::string text;
  if (!readText(value, text)) {
    return false;
  }
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, into_.training_.seed);
  return (error == std::errc() && rest == end) ||
         json_.fail(offset, "expected a number from 0 on, in quotes");
}

/// A file of the folder itself, by one of the names that Divisi gives.
bool ManifestReader::readFile(Value value, size_t &file) {
  size_t offset = json_.offset(value);
  std::string name;
  if (!readText(value, name)) {
    return false;
  }
  constexpr std::string_view begin = "rank-", end = ".safetensors";
  std::string_view digits = name;
  bool isName = digits.starts_with(begin) && digits.ends_with(end) &&
                digits.size() > begin.size() + end.size();
  if (isName) {
    digits =
        digits.substr(begin.size(), digits.size() - begin.size() - end.size());
    isName = digits.find_first_not_of("0123456789") == std::string_view::npos;
  }
  if (!isName) {
    return json_.fail(offset, "expected the name of a file such as "
                              "'rank-00000.safetensors'");
  }
  auto known = std::ranges::find(into_.files_, name);
  file = size_t(known - into_.files_.begin());
  if (known == into_.files_.end()) {
    into_.files_.push_back(name);
  }
  return true;
}

bool ManifestReader::checkBox(const StoredTensor &tensor,
                              const StoredBox &stored, size_t offset) {
  const Box &box = stored.box;
  bool fits = box.begin.size() == tensor.dims.size() &&
              box.end.size() == tensor.dims.size();
  for (size_t d = 0; fits && d < box.rank(); ++d) {
    fits = box.begin[d] < box.end[d] && box.end[d] <= tensor.dims[d];
  }
  return fits || json_.fail(offset, "expected a box in the tensor");
}

bool ManifestReader::readBox(Value value, StoredTensor &tensor) {
  StoredBox &stored = tensor.boxes.emplace_back();
  size_t offset = json_.offset(value);
  JsonText::Member members[] = {
      {"begin", true, [&](Value v) { return readDims(v, stored.box.begin); }},
      {"end", true, [&](Value v) { return readDims(v, stored.box.end); }},
      {"file", true, [&](Value v) { return readFile(v, stored.file); }},
      {"offset", true, [&](Value v) { return readCount(v, stored.offset); }},
      {"sha256", true, [&](Value v) { return readHash(v, stored.sha256); }}};
  return json_.object(value, members) && checkBox(tensor, stored, offset);
}

bool ManifestReader::readTensor(Value value) {
  StoredTensor tensor;
  size_t offset = json_.offset(value);
  std::string type;
  auto readBoxes = [&](Value boxes) {
    // Its shape stands before.
    std::optional<DType> known = parseDType(type);
    std::optional<int64_t> count = checkedProduct(tensor.dims);
    if (!known || !count || !storedBytes(*count, byteWidth(*known) * 8)) {
      return json_.fail(offset, "expected a type, and a shape that fits it, "
                                "before the boxes");
    }
    tensor.type = *known;
    return json_.list(boxes, [&](Value box) { return readBox(box, tensor); });
  };
  JsonText::Member members[] = {
      {"name", true, [&](Value v) { return readText(v, tensor.name); }},
      {"kind", true, [&](Value v) { return readText(v, tensor.kind); }},
      {"type", true, [&](Value v) { return readText(v, type); }},
      {"dims", true, [&](Value v) { return readDims(v, tensor.dims); }},
      {"boxes", true, readBoxes}};
  if (!json_.object(value, members)) {
    return false;
  }
  if (!names_.insert(tensor.name).second) {
    return json_.fail(offset, "expected each tensor once");
  }
  into_.tensors_.push_back(std::move(tensor));
  return true;
}

bool ManifestReader::readFrozen(Value value) {
  std::string name, hash;
  JsonText::Member members[] = {
      {"name", true, [&](Value v) { return readText(v, name); }},
      {"sha256", true, [&](Value v) { return readHash(v, hash); }}};
  if (!json_.object(value, members)) {
    return false;
  }
  into_.frozen_[name] = hash;
  return true;
}

Status ManifestReader::read() {
  TrainingState &training = into_.training_;
  JsonText::Member members[] = {
      {"divisi_checkpoint", true,
       [&](Value v) { return json_.integer(v, version_); }},
      {"step", true, [&](Value v) { return readCount(v, training.step); }},
      {"seed", true, [&](Value v) { return readSeed(v); }},
      {"epoch", true,
       [&](Value v) { return readCount(v, training.position.epoch); }},
      {"place", true,
       [&](Value v) { return readCount(v, training.position.place); }},
      {"samples", true,
       [&](Value v) { return readCount(v, training.samples); }},
      {"tensors", true,
       [&](Value v) {
         return json_.list(v, [&](Value each) { return readTensor(each); });
       }},
      {"frozen", true, [&](Value v) {
         return json_.list(v, [&](Value each) { return readFrozen(each); });
       }}};
  if (!json_.readRoot(members)) {
    return version_ != 0 && version_ != kCheckpointVersion
               ? makeError(ExitCode::Version, "a checkpoint of version ",
                           version_, "; expected ", kCheckpointVersion)
               : json_.status();
  }
  return version_ == kCheckpointVersion
             ? Status()
             : makeError(ExitCode::Version, "a checkpoint of version ",
                         version_, "; expected ", kCheckpointVersion);
}

/// Whether the text ends with the hash of what stands before.
static bool hasRightHash(std::string_view text) {
  constexpr std::string_view before = kManifestEnd, behind = kManifestLast;
  if (text.size() < before.size() + kHashDigits + behind.size() ||
      !text.ends_with(behind)) {
    return false;
  }
  text.remove_suffix(behind.size());
  std::string_view hash = text.substr(text.size() - kHashDigits);
  text.remove_suffix(kHashDigits);
  if (!text.ends_with(before)) {
    return false;
  }
  text.remove_suffix(before.size());
  return toHex(Sha256::of(std::string(text))) == hash;
}

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  std::string file = path + "/" + kManifestName;
  Expected<OpenFile> opened = OpenFile::openBeneath(path, kManifestName);
  if (!opened) {
    return opened.status();
  }
  if (uint64_t(opened->size()) > kMostText) {
    return makeError(ExitCode::Invalid, "'", file, "' is longer than 4 GiB");
  }
  std::string text(size_t(opened->size()) + InputText::kPadding, '\0');
  Status status = opened->read(0, std::as_writable_bytes(std::span(
                                      text.data(), size_t(opened->size()))));
  if (!status.isOk()) {
    return status;
  }
  std::string_view view(text.data(), size_t(opened->size()));
  if (!hasRightHash(view)) {
    return makeError(ExitCode::Invalid, "'", file,
                     "' is damaged: it does not end with the SHA-256 of the "
                     "rest");
  }
  status = ManifestReader(view, checkpoint).read();
  return status.isOk() ? Expected<Checkpoint>(std::move(checkpoint))
                       : status.in("'" + file + "'");
}
