//===- SpacesFixture.h - Models with and without a device -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COMPILER_SPACESFIXTURE_H
#define DIVISI_TEST_COMPILER_SPACESFIXTURE_H

#include "CopyCounter.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/runtime/core/Session.h"
#include "test/runtime/device/SeededDevice.h"

#include <gmock/gmock.h>

#include <set>

namespace divisi {

/// What is compiled, for how many devices.
struct SpacesCase {
  std::string model;
  int64_t devices;
  bool fuses = false;   ///< Whether calls have regions.
  uint64_t seed = 0;    ///< Of a plan drawn at random; 0: it is the planner's.
  bool isChain = false; ///< Few calls and copies may run beside each other.
};

/// A model that has been planned once, and is lowered and run many times.
class SpacesFixture : public testing::Test {
protected:
  using Names = std::set<std::string>;

  ~SpacesFixture() override;

  void prepare(const SpacesCase &param);

  /// Compiles for a device with kernels for `ops`, runs that on devices that
  /// work in an order drawn from `seed`, and expects what the host gives, and
  /// the copies that the operators tell. What these are, of all ranks.
  Counted expectSameBits(const Names &ops, uint32_t seed, bool isReached);

  /// The programs for `device`.
  Compilation lower(DeviceTarget device);
  /// The same, as text.
  std::string loweredText(DeviceTarget device);

  /// All operators that entries call.
  const Names &all() const { return all_; }
  const rt::Session &host() const { return *host_; }
  int64_t numUpdated() const;
  /// Copies from one space to the same, of what was compiled last.
  int64_t numCopiesThere() const { return numCopiesThere_; }
  /// The globals that it updates in the memory of devices.
  int64_t numStatesThere() const { return numStatesThere_; }
  /// Collectives and transfers of all programs.
  int64_t numMeetings();
  /// How often a job on a device came before an earlier one.
  int numOvertaken() const { return numOvertaken_; }

private:
  /// What a run gives: outputs, and globals behind it.
  using Results = std::vector<rt::HostTensor>;
  /// Per rank what it copies.
  using Copies = std::vector<rt::SpaceCopies>;

  void loadModel(const std::string &name, CompileOptions &options);
  std::string writeProgram(const std::string &name, int64_t devices,
                           CompileOptions &options);
  std::vector<Results> run(rt::Session &session);
  void expectCopies(rt::Session &session, const Names &ops, bool isReached,
                    Counted &total);

  std::string folder_;
  std::string path_;    ///< Of the model.
  std::string planned_; ///< A dump of it, scheduled.
  std::vector<rt::HostTensor> given_;
  std::unique_ptr<Compilation> programs_; ///< Lowered, and no more.
  Names all_;
  std::unique_ptr<rt::Session> host_;
  std::vector<Results> expected_;
  int numOvertaken_ = 0;
  int64_t numCopiesThere_ = 0, numStatesThere_ = 0;
};

} // namespace divisi

#endif // DIVISI_TEST_COMPILER_SPACESFIXTURE_H
