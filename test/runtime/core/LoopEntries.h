//===- LoopEntries.h - What programs with a loop have in common -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_CORE_LOOPENTRIES_H
#define DIVISI_TEST_RUNTIME_CORE_LOOPENTRIES_H

#include "test/runtime/artifact/Damager.h"
#include "test/runtime/core/TestSession.h"

namespace divisi::rt {

/// The entry `f` of two ranks and the body `step` of its loop, without
/// programs: y = x + n * f, of four elements, in n iterations of `x + f`.
struct LoopEntries {
  explicit LoopEntries(ManifestBuilder &b)
      : grid(b.grid({2})), count(b.tensor(grid, {}, {}, {}, "", "i64")),
        half(b.tensor(grid, {4}, {DimSplit({0})})),
        whole(b.tensor(grid, {4}, {{}})), entry(*b.manifest.add_entries()),
        body(*b.manifest.add_entries()) {
    entry.set_name("f");
    body.set_name("step");
    body.set_is_body(true);
    for (pb::Entry *e : {&entry, &body}) {
      addValue(e->mutable_inputs(), "n", count);
      addValue(e->mutable_inputs(), "x", half);
      addValue(e->mutable_inputs(), "f", half);
      addValue(e->mutable_outputs(), "y", half);
    }
  }

  uint32_t grid;
  TensorRef count, half, whole;
  pb::Entry &entry, &body;
};

/// Adds a loop of at most `most` iterations that carries one value and gives
/// one, between the buffers `count` to `spare`.
inline pb::Loop &addLoop(pb::Program &program, int64_t most, uint32_t count,
                         uint32_t carried, uint32_t given, uint32_t result,
                         uint32_t spare) {
  pb::Instruction &instruction = *program.add_instructions();
  instruction.set_location("again");
  pb::Loop &loop = *instruction.mutable_loop();
  loop.set_body(1);
  loop.set_most(most);
  loop.set_count(count);
  loop.add_carried(carried);
  loop.add_given(given);
  loop.add_results(result);
  loop.add_spares(spare);
  return loop;
}

/// What `f` is given, ...
inline std::vector<HostTensor> loopInputs(int64_t count) {
  std::vector<HostTensor> tensors;
  auto n = HostTensor::zeros(DType::I64, {});
  n->as<int64_t>()[0] = count;
  tensors.push_back(std::move(*n));
  tensors.push_back(makeTensor({4}, counting(4)));
  tensors.push_back(makeTensor({4}, counting(4, 10)));
  return tensors;
}

/// ... and what it makes of that.
inline std::vector<float> loopOutput(int64_t count) {
  std::vector<float> y = counting(4);
  for (size_t i = 0; i < 4; ++i) {
    y[i] += float(count) * float(10 + i);
  }
  return y;
}

/// How many of 300 damaged manifests of such a loop are refused; the others
/// run, or say why they do not.
template <typename Make>
int countRefusedLoops(const char *what, const SessionOptions &options,
                      Make make) {
  return countRefused(
      what, 300, options, make,
      [](pb::Manifest &manifest, uint32_t) -> google::protobuf::Message & {
        return manifest;
      },
      [](Session &session, const EntryInfo &entry) {
        return entry.inputs.size() == 3
                   ? session.run("f", loopInputs(3)).status()
                   : Status();
      });
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_CORE_LOOPENTRIES_H
