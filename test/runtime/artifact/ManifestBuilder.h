//===- ManifestBuilder.h - Manifests by hand --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_ARTIFACT_MANIFESTBUILDER_H
#define DIVISI_TEST_RUNTIME_ARTIFACT_MANIFESTBUILDER_H

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

namespace divisi::rt {

namespace pb = divisi::artifact;
using Axes = std::vector<uint32_t>;
using Bounds = std::vector<int64_t>; ///< begin, end, begin, end, ...

/// One dimension of a layout; without bounds they are nested and rounded up.
struct DimSplit {
  Axes axes;
  Bounds bounds;
  DimSplit(std::initializer_list<uint32_t> axes = {}) : axes(axes) {}
  DimSplit(Axes axes, Bounds bounds)
      : axes(std::move(axes)), bounds(std::move(bounds)) {}
};

/// A tensor of a manifest: its number there, and what that says.
struct TensorRef {
  uint32_t number;
  pb::Tensor message;
};

/// Adds a tensor like that of the number, and returns its own.
inline uint32_t copyTensor(pb::Manifest &manifest, uint32_t number) {
  pb::Tensor copy = manifest.tensors(static_cast<int>(number));
  *manifest.add_tensors() = std::move(copy);
  return manifest.tensors_size() - 1;
}

/// Makes a tensor that `user`, a message of `manifest`, alone has, and which is
/// for now what it had.
template <typename Message>
pb::Tensor &ownTensor(pb::Manifest &manifest, Message &user) {
  user.set_tensor(copyTensor(manifest, user.tensor()));
  return *manifest.mutable_tensors(static_cast<int>(user.tensor()));
}

/// The number of an operator without attributes, which is added if need be.
inline uint32_t operatorNumber(pb::Manifest &manifest, const std::string &op) {
  for (int i = 0; i < manifest.operators_size(); ++i) {
    if (manifest.operators(i).op() == op) {
      return i;
    }
  }
  manifest.add_operators()->set_op(op);
  manifest.mutable_operators()->rbegin()->set_version(1);
  return manifest.operators_size() - 1;
}

/// Makes an operator that `call` alone computes, for now what it did.
inline pb::Operator &ownOperator(pb::Manifest &manifest, pb::Call &call) {
  pb::Operator copy = manifest.operators(static_cast<int>(call.op()));
  call.set_op(manifest.operators_size());
  return *manifest.add_operators() = std::move(copy);
}

/// Makes the parts of a manifest.
class ManifestBuilder {
public:
  explicit ManifestBuilder(uint32_t numRanks) {
    manifest.set_num_ranks(numRanks);
    manifest.set_producer("test");
  }

  uint32_t grid(const std::string &name, const Dims &sizes, Axes devices) {
    pb::Grid &grid = *manifest.add_grids();
    grid.set_name(name);
    for (size_t a = 0; a < sizes.size(); ++a) {
      pb::Axis &axis = *grid.add_axes();
      axis.set_name(std::string(1, static_cast<char>('a' + a)));
      axis.set_size(sizes[a]);
    }
    grid.mutable_devices()->Assign(devices.begin(), devices.end());
    return manifest.grids_size() - 1;
  }

  /// All ranks along axes of these sizes.
  uint32_t grid(const Dims &sizes) {
    Axes devices(numElements(sizes));
    std::iota(devices.begin(), devices.end(), 0);
    return grid("g", sizes, devices);
  }

  TensorRef tensor(uint32_t grid, const Dims &dims,
                   const std::vector<DimSplit> &splits,
                   const Axes &partial = {}, const std::string &kind = "sum",
                   const std::string &dtype = "f32") {
    pb::Tensor tensor;
    tensor.set_dtype(dtype);
    tensor.set_grid(grid);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    for (size_t d = 0; d < dims.size(); ++d) {
      pb::DimLayout &dim = *tensor.mutable_layout()->add_dims();
      const DimSplit &split = splits[d];
      dim.mutable_axes()->Assign(split.axes.begin(), split.axes.end());
      Bounds bounds = split.bounds;
      if (bounds.empty() && !split.axes.empty()) {
        bounds = nested(grid, split.axes, 0, dims[d]);
      }
      dim.mutable_bounds()->Assign(bounds.begin(), bounds.end());
    }
    tensor.mutable_layout()->mutable_partial_axes()->Assign(partial.begin(),
                                                            partial.end());
    if (!partial.empty()) {
      tensor.mutable_layout()->set_partial_kind(kind);
    }
    uint32_t number = manifest.tensors_size();
    *manifest.add_tensors() = tensor;
    return {number, std::move(tensor)};
  }

  uint32_t global(const std::string &name, const std::string &kind,
                  const TensorRef &tensor) {
    pb::Global &global = *manifest.add_globals();
    global.set_name(name);
    global.set_kind(kind);
    global.set_tensor(tensor.number);
    return manifest.globals_size() - 1;
  }

  pb::Manifest manifest;

private:
  /// The bounds of [begin, end) split over `axes`, each part rounded up.
  Bounds nested(uint32_t grid, Axes axes, int64_t begin, int64_t end) const {
    if (axes.empty()) {
      return {begin, end};
    }
    int64_t size = manifest.grids(grid).axes(axes.front()).size();
    axes.erase(axes.begin());
    int64_t step = (end - begin + size - 1) / size;
    Bounds bounds;
    for (int64_t i = 0; i < size; ++i) {
      Bounds part = nested(grid, axes, std::min(end, begin + i * step),
                           std::min(end, begin + (i + 1) * step));
      bounds.insert(bounds.end(), part.begin(), part.end());
    }
    return bounds;
  }
};

/// Makes the instructions of a program; every alloc is a new place.
class ProgramBuilder {
public:
  ProgramBuilder(pb::Manifest &manifest, pb::Entry &entry, const Axes &ranks)
      : program(*entry.add_programs()), manifest_(manifest) {
    program.mutable_ranks()->Assign(ranks.begin(), ranks.end());
  }

  uint32_t input(uint32_t index, const TensorRef &tensor) {
    add(tensor).set_input(index);
    return last();
  }
  uint32_t global(uint32_t index, const TensorRef &tensor) {
    add(tensor).set_global(index);
    return last();
  }
  uint32_t view(uint32_t source, const TensorRef &tensor) {
    add(tensor).set_view(source);
    return last();
  }
  /// Of bytes from `offset` on, as many as the whole tensor has.
  uint32_t view(uint32_t source, const TensorRef &tensor, int64_t offset) {
    const pb::Tensor &message = tensor.message;
    Dims dims(message.dims().begin(), message.dims().end());
    pb::Buffer &buffer = add(tensor);
    buffer.set_view(source);
    buffer.set_view_offset(offset);
    buffer.set_bytes(*checkedBytes(*parseDType(message.dtype()), dims));
    return last();
  }
  /// Room for the whole tensor, or at a place of the caller's.
  uint32_t alloc(const TensorRef &tensor, int64_t offset = -1) {
    const pb::Tensor &message = tensor.message;
    Dims dims(message.dims().begin(), message.dims().end());
    int64_t bytes = *checkedBytes(*parseDType(message.dtype()), dims);
    int64_t rounded = (bytes + 63) / 64 * 64;
    pb::Buffer &buffer = add(tensor);
    buffer.set_bytes(bytes);
    buffer.set_arena_offset(offset < 0 ? program.arena_bytes() : offset);
    program.set_arena_bytes(
        std::max(program.arena_bytes(), buffer.arena_offset() + rounded));
    return last();
  }

  uint32_t allocChannelsLast(const TensorRef &tensor) {
    uint32_t buffer = alloc(tensor);
    program.mutable_buffers()->rbegin()->set_format(std::string(channelsLast));
    return buffer;
  }

  pb::Call &call(const std::string &op, const Axes &operands, uint32_t result) {
    pb::Instruction &instruction = *program.add_instructions();
    instruction.set_location("node of " + op);
    pb::Call &call = *instruction.mutable_call();
    call.set_op(operatorNumber(manifest_, op));
    call.mutable_operands()->Assign(operands.begin(), operands.end());
    call.add_results(result);
    call.set_workspace_offset(-1);
    return call;
  }
  pb::Collective &collective(const std::string &kind, const Axes &axes,
                             uint32_t source, uint32_t result, uint32_t tag) {
    pb::Instruction &instruction = *program.add_instructions();
    instruction.set_location("move");
    pb::Collective &collective = *instruction.mutable_collective();
    collective.set_kind(kind);
    collective.mutable_axes()->Assign(axes.begin(), axes.end());
    collective.set_source(source);
    collective.set_result(result);
    collective.set_tag(tag);
    return collective;
  }
  void transfer(const TensorRef &from, const TensorRef &to,
                std::optional<uint32_t> source, std::optional<uint32_t> result,
                uint32_t tag) {
    pb::Transfer &transfer = *program.add_instructions()->mutable_transfer();
    transfer.set_from(from.number);
    transfer.set_to(to.number);
    transfer.set_tag(tag);
    if (source) {
      transfer.set_source(*source);
    }
    if (result) {
      transfer.set_result(*result);
    }
  }
  void copy(uint32_t source, uint32_t result) {
    pb::Copy &copy = *program.add_instructions()->mutable_copy();
    copy.set_source(source);
    copy.set_result(result);
  }
  void output(uint32_t source, uint32_t index) {
    pb::Output &output = *program.add_instructions()->mutable_output();
    output.set_source(source);
    output.set_output(index);
  }
  uint32_t newGlobal(uint32_t index, const TensorRef &tensor) {
    add(tensor).set_new_global(index);
    return last();
  }
  void commit() { program.add_instructions()->mutable_commit(); }

  pb::Program &program;

private:
  pb::Buffer &add(const TensorRef &tensor) {
    pb::Buffer &buffer = *program.add_buffers();
    buffer.set_tensor(tensor.number);
    return buffer;
  }
  uint32_t last() const { return program.buffers_size() - 1; }

  pb::Manifest &manifest_;
};

/// Says which results of the program's calls lie at an operand's place.
inline void sayInPlace(pb::Program &program) {
  auto placeOf = [&](uint32_t number) {
    const pb::Buffer *buffer = &program.buffers(static_cast<int>(number));
    while (buffer->has_view()) {
      buffer = &program.buffers(static_cast<int>(buffer->view()));
    }
    int64_t place = buffer->has_new_global() ? buffer->new_global()
                    : buffer->has_global()   ? buffer->global()
                    : buffer->has_input()    ? -1
                                             : buffer->arena_offset();
    return std::tuple(buffer->has_arena_offset(), buffer->space(), place);
  };
  for (pb::Instruction &instruction : *program.mutable_instructions()) {
    pb::Call call = instruction.call();
    if (instruction.has_call()) {
      instruction.mutable_call()->clear_in_place();
    }
    for (int r = 0; r < call.results_size(); ++r) {
      for (int o = 0; o < call.operands_size(); ++o) {
        if (placeOf(call.results(r)) == placeOf(call.operands(o))) {
          pb::InPlace &pair = *instruction.mutable_call()->add_in_place();
          pair.set_operand(o);
          pair.set_result(r);
        }
      }
    }
  }
}

/// Puts every instruction on its queue, behind the one before it: one after the
/// other, as they stand. Calls say what they write in place.
inline pb::Manifest inOneOrder(pb::Manifest manifest) {
  auto communicator = [&](uint32_t grid, const auto &axes,
                          std::optional<uint32_t> target) {
    pb::Communicator wanted;
    wanted.set_grid(grid);
    *wanted.mutable_axes() = axes;
    if (target) {
      wanted.set_target(*target);
    }
    int number = 0;
    for (pb::Communicator &known : *manifest.mutable_communicators()) {
      wanted.set_name(known.name());
      if (wanted.SerializeAsString() == known.SerializeAsString()) {
        return 2 + number;
      }
      ++number;
    }
    wanted.set_name("c" + std::to_string(number));
    *manifest.add_communicators() = wanted;
    return 2 + number;
  };
  auto gridOf = [&](uint32_t tensor) {
    return manifest.tensors(static_cast<int>(tensor)).grid();
  };
  for (pb::Entry &entry : *manifest.mutable_entries()) {
    for (pb::Program &program : *entry.mutable_programs()) {
      sayInPlace(program);
      for (int i = 0; i < program.instructions_size(); ++i) {
        pb::Instruction &instruction = *program.mutable_instructions(i);
        const pb::Collective &c = instruction.collective();
        if (instruction.has_transfer()) {
          const pb::Transfer &transfer = instruction.transfer();
          instruction.set_queue(communicator(gridOf(transfer.from()), c.axes(),
                                             gridOf(transfer.to())));
        } else if (instruction.has_collective() && c.kind() != "slice" &&
                   c.kind() != "mask") {
          uint32_t source =
              program.buffers(static_cast<int>(c.source())).tensor();
          instruction.set_queue(communicator(gridOf(source), c.axes(), {}));
        }
        if (i > 0 &&
            instruction.queue() != program.instructions(i - 1).queue()) {
          instruction.add_after(i - 1);
        }
      }
    }
  }
  return manifest;
}

inline void addValue(google::protobuf::RepeatedPtrField<pb::Value> *values,
                     const std::string &name, const TensorRef &tensor) {
  pb::Value &value = *values->Add();
  value.set_name(name);
  value.set_tensor(tensor.number);
}

inline HostTensor makeTensor(const Dims &dims,
                             const std::vector<float> &values) {
  auto tensor = HostTensor::copyOf(
      DType::F32, dims, std::as_bytes(std::span<const float>(values)));
  EXPECT_TRUE(tensor) << tensor.status().message();
  return std::move(*tensor);
}

inline std::vector<HostTensor> listOf(HostTensor tensor) {
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

/// One rank, and an entry `f` from x to y of so many floats each.
struct OneRank {
  explicit OneRank(int64_t count)
      : grid(b.grid({1})), t(b.tensor(grid, {count}, {{}})), entry(addEntry()),
        p(b.manifest, entry, {0}), x(p.input(0, t)) {}
  pb::Manifest manifest() const { return inOneOrder(b.manifest); }

  ManifestBuilder b{1};
  uint32_t grid;
  TensorRef t;
  pb::Entry &entry;
  ProgramBuilder p;
  uint32_t x;

private:
  pb::Entry &addEntry() {
    pb::Entry &added = *b.manifest.add_entries();
    added.set_name("f");
    addValue(added.mutable_inputs(), "x", t);
    addValue(added.mutable_outputs(), "y", t);
    return added;
  }
};

inline std::vector<float> valuesOf(const HostTensor &tensor) {
  auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

/// A path in the temporary folder that no other process uses.
inline std::string temporaryFile(const std::string &name) {
  return testing::TempDir() + "divisi_" + std::to_string(getpid()) + "_" + name;
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_ARTIFACT_MANIFESTBUILDER_H
