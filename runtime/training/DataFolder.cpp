//===- DataFolder.cpp - Samples in a folder of arrays ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/DataFolder.h"

#include "divisi/Support/CheckedMath.h"

#include <algorithm>
#include <filesystem>
#include <optional>

using namespace divisi;
using namespace divisi::rt;

/// Names of the files in `folder`, ascending.
static Expected<std::vector<std::string>> filesIn(const std::string &folder) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(".npz") || name.ends_with(".npy")) {
      names.push_back(std::move(name));
    }
  }
  if (error) {
    return makeError(ExitCode::File, "cannot read the folder '", folder,
                     "': ", error.message());
  }
  std::ranges::sort(names);
  return names;
}

/// `'ids', 'labels'`
static std::string quoted(std::span<const ValueInfo> inputs) {
  std::string text;
  for (const ValueInfo &input : inputs) {
    text += (text.empty() ? "'" : ", '") + input.name + "'";
  }
  return text;
}

Status DataFolder::findBatch(std::span<const ValueInfo> inputs) {
  for (const ValueInfo &input : inputs) {
    bool isScalar = input.dims.empty() || input.dims.front() == 0;
    if (isScalar || input.dims.front() != inputs.front().dims.front()) {
      return makeError(
          ExitCode::Usage, "the first extent of an input is the batch, and '",
          input.name, "' is ", rt::describe(input.type, input.dims),
          isScalar ? std::string()
                   : " where '" + inputs.front().name + "' is " +
                         rt::describe(inputs.front().type, inputs.front().dims),
          "; give what is the same in every step by --inputs");
    }
    Dims row(input.dims.begin() + 1, input.dims.end());
    rowBytes_.push_back(numElements(row) * byteWidth(input.type));
  }
  batch_ = inputs.front().dims.front();
  return {};
}

/// Which of `inputs` the .npy called `stem` is for, and of which shard; nothing
/// if for none. Of names that end alike the longest counts.
static std::optional<std::pair<size_t, std::string>>
splitName(const std::string &stem, std::span<const ValueInfo> inputs) {
  std::optional<std::pair<size_t, std::string>> found;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = inputs[i].name;
    bool isLonger = !found || name.size() > inputs[found->first].name.size();
    if (stem == name) {
      return std::pair(i, std::string());
    }
    if (isLonger && stem.ends_with("." + name)) {
      found = {i, stem.substr(0, stem.size() - name.size() - 1)};
    }
  }
  return found;
}

Status DataFolder::addArray(const std::string &shard, size_t input,
                            MappedArray array, const std::string &file,
                            const ValueInfo &info) {
  const Dims &dims = array.head.dims;
  bool fits = dims.size() == info.dims.size() &&
              std::equal(dims.begin() + 1, dims.end(), info.dims.begin() + 1);
  bool isType = array.head.isOpaque
                    ? byteWidth(info.type) == byteWidth(array.head.type)
                    : array.head.type == info.type;
  if (!fits || !isType) {
    Dims row(info.dims.begin() + 1, info.dims.end());
    std::string expected = rt::describe(info.type, info.dims);
    return makeError(ExitCode::Invalid, "'", file, "': the samples of '",
                     info.name, "' are ", rt::describe(array.head.type, dims),
                     "; expected ", rt::describe(info.type, row),
                     " each, behind their number, as the "
                     "input is ",
                     expected, isType ? "" : "; astype converts them");
  }
  auto same = std::ranges::find(shards_, shard, &Shard::name);
  Shard &to = same != shards_.end() ? *same : shards_.emplace_back();
  to.name = shard;
  to.arrays.resize(rowBytes_.size());
  to.files.resize(rowBytes_.size());
  if (!to.files[input].empty()) {
    return makeError(ExitCode::Invalid, "'", to.files[input], "' and '", file,
                     "' both have the samples of '", info.name,
                     "' of one shard; rename one");
  }
  bytesInMemory_ += array.isMapped ? 0 : int64_t(array.elements.size());
  to.arrays[input] = std::move(array);
  to.files[input] = file;
  return {};
}

/// Those that are the same in every step may stand in several files.
Status DataFolder::addShared(Shared &to, MappedArray array,
                             const std::string &file) {
  const ValueInfo &info = to.info;
  bool isType = array.head.isOpaque
                    ? byteWidth(info.type) == byteWidth(array.head.type)
                    : array.head.type == info.type;
  if (!isType || array.head.dims != info.dims) {
    return makeError(ExitCode::Invalid, "'", file, "': '", info.name,
                     "', which has no batch, is ",
                     rt::describe(array.head.type, array.head.dims),
                     "; expected ", rt::describe(info.type, info.dims),
                     " as the input is, for all steps");
  }
  if (to.file.empty()) {
    to.array = std::move(array);
    to.file = file;
    return {};
  }
  return std::ranges::equal(to.array.elements, array.elements)
             ? Status()
             : makeError(ExitCode::Invalid, "'", to.file, "' and '", file,
                         "' have different values of '", info.name,
                         "', which has no batch and is the same in every step");
}

/// `input` counts inputs with samples first, then those that are shared.
Status DataFolder::add(const std::string &shard, size_t input,
                       MappedArray array, const std::string &file,
                       std::span<const ValueInfo> inputs) {
  size_t sampled = inputs.size() - shared_.size();
  return input < sampled
             ? addArray(shard, input, std::move(array), file, inputs[input])
             : addShared(shared_[input - sampled], std::move(array), file);
}

Status DataFolder::addFile(const std::string &path,
                           std::span<const ValueInfo> inputs) {
  std::string stem = std::filesystem::path(path).stem().string();
  Expected<std::vector<MappedArray>> arrays = mapArrays(path);
  if (!arrays) {
    return arrays.status();
  }
  if (path.ends_with(".npy")) {
    auto found = splitName(stem, inputs);
    return found ? add(found->second, found->first, std::move(arrays->front()),
                       path, inputs)
                 : makeError(ExitCode::Invalid, "'", path,
                             "' is not named after an input (", quoted(inputs),
                             "); expected INPUT.npy or SHARD.INPUT.npy");
  }
  for (MappedArray &array : *arrays) {
    auto input = std::ranges::find(inputs, array.name, &ValueInfo::name);
    if (input == inputs.end()) {
      unused_.insert(array.name);
      continue;
    }
    Status status = add(stem, size_t(input - inputs.begin()), std::move(array),
                        path, inputs);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status DataFolder::countSamples(std::span<const ValueInfo> inputs) {
  std::ranges::sort(shards_, {}, &Shard::name);
  int64_t end = 0;
  for (Shard &shard : shards_) {
    size_t first =
        size_t(std::ranges::find_if_not(shard.files, &std::string::empty) -
               shard.files.begin());
    int64_t count = shard.arrays[first].head.dims.front();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (shard.files[i].empty()) {
        return makeError(ExitCode::Invalid, "'", shard.files[first],
                         "' has no samples of '", inputs[i].name,
                         "' beside it; a shard has those of every input");
      }
      int64_t other = shard.arrays[i].head.dims.front();
      if (other != count) {
        return makeError(ExitCode::Invalid, "'", shard.files[i], "' has ",
                         other, " samples of '", inputs[i].name, "', and '",
                         shard.files[first], "' ", count, " of '",
                         inputs[first].name, "'");
      }
    }
    shard.name = std::filesystem::path(shard.files[first]).filename().string();
    shard.begin = end;
    shard.end = end = checkedAdd(end, count).value_or(end);
  }
  return {};
}

Expected<DataFolder> DataFolder::open(const std::string &path,
                                      std::span<const ValueInfo> inputs,
                                      std::span<const ValueInfo> shared) {
  DataFolder folder;
  folder.path_ = path;
  std::vector<ValueInfo> all(inputs.begin(), inputs.end());
  for (const ValueInfo &input : shared) {
    all.push_back(input);
    folder.shared_.push_back({input, {}, {}});
  }
  if (Status status = folder.findBatch(inputs); !status.isOk()) {
    return status;
  }
  Expected<std::vector<std::string>> names = filesIn(path);
  if (!names) {
    return names.status();
  }
  for (const std::string &name : *names) {
    Status status = folder.addFile(path + "/" + name, all);
    if (!status.isOk()) {
      return status;
    }
  }
  if (folder.shards_.empty()) {
    return makeError(ExitCode::File, "the folder '", path,
                     "' has no samples; expected SHARD.npz with an array for "
                     "each input (",
                     quoted(inputs), "), or a file SHARD.INPUT.npy for each");
  }
  for (const Shared &input : folder.shared_) {
    if (input.file.empty()) {
      return makeError(ExitCode::Invalid, "the folder '", path,
                       "' has no array '", input.info.name, "' of ",
                       rt::describe(input.info.type, input.info.dims),
                       ", which has no batch and is the same in every step; "
                       "add ",
                       input.info.name, ".npy, or give it by --inputs");
    }
  }
  if (Status status = folder.countSamples(inputs); !status.isOk()) {
    return status;
  }
  if (folder.samples() < folder.batch_) {
    return makeError(ExitCode::Invalid, "the folder '", path, "' has ",
                     folder.samples(), " samples, and a step takes ",
                     folder.batch_, "; compile the model for a smaller batch");
  }
  return folder;
}

Expected<HostTensor> DataFolder::shared(size_t input) const {
  const Shared &from = shared_[input];
  return HostTensor::copyOf(from.info.type, from.info.dims,
                            from.array.elements);
}

const DataFolder::Shard &DataFolder::shardOf(int64_t sample) const {
  return *std::ranges::upper_bound(shards_, sample, {}, &Shard::end);
}

const std::byte *DataFolder::find(size_t input, int64_t sample) const {
  const Shard &shard = shardOf(sample);
  return shard.arrays[input].elements.data() +
         (sample - shard.begin) * rowBytes_[input];
}

std::string DataFolder::describe(int64_t sample) const {
  const Shard &shard = shardOf(sample);
  return "sample " + std::to_string(sample) + " (row " +
         std::to_string(sample - shard.begin) + " of '" + shard.name + "')";
}
