//===- RegionCheck.h - Code of a region against the region ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_REGIONCHECK_H
#define DIVISI_TEST_CODEGEN_REGIONCHECK_H

#include "runtime/backends/cpu/NativeObject.h"
#include "test/Codegen/GuardedMemory.h"
#include "test/Codegen/RegionCall.h"

#include <map>
#include <random>

namespace divisi::test {

/// What the numbers are that operands get.
enum class Numbers : uint8_t { Mixed, Positive, Special };

/// Numbers of row-major elements, as the type can hold them.
std::vector<std::byte> drawNumbers(const rt::TensorInfo &info, Numbers numbers,
                                   std::mt19937 &random);

/// Elements of results.
struct Compared {
  int64_t elements = 0;  ///< That were compared ...
  int64_t undecided = 0; ///< ... and whose bound says nothing.
};

/// Whether `results` are what the interpreted region makes of `operands`, within
/// its bounds: empty, or what is wrong.
std::string
compareWithBounds(const RegionCall &call,
                  const std::vector<std::vector<double>> &operands,
                  const std::vector<std::vector<std::byte>> &results,
                  Compared &counts);

/// Runs code of regions between guards (GuardedMemory.h), on boxes as they are,
/// by teams of several sizes, also with the result over an operand, and compares
/// what it computes with the interpreted region (RegionBounds.h). All teams give
/// the same bits.
class RegionCheck {
public:
  RegionCheck();

  /// For calls of up to a few hundred thousand elements. Empty, or what is
  /// wrong.
  std::string compare(const RegionCall &call, Numbers numbers,
                      std::mt19937 &random);
  /// The bits alone: for larger calls, on which teams have something to share.
  std::string compareTeams(const RegionCall &call, std::mt19937 &random);

  int64_t calls = 0;     ///< Of code.
  Compared counts;
  size_t structures() const { return codes_.size(); }

private:
  struct Code {
    std::string bytes;
    /// Loaded as long as the check lives.
    std::shared_ptr<const rt::cpu::NativeObject> object;
  };
  /// How a call is made.
  struct Way {
    int threads;
    Side side;
    bool isOver; ///< The result over the first operand, where it may be.
  };
  using Stored = std::vector<std::vector<std::byte>>;

  std::string runAll(const RegionCall &call, const Stored &inputs,
                     Stored &results);
  std::string run(const RegionCall &call, const Stored &inputs, Way way,
                  Stored &results);
  Code &codeFor(const rt::CallSite &site);
  GuardedMemory &memory(size_t number);

  std::map<std::string, Code> codes_; ///< By structure.
  std::vector<std::unique_ptr<GuardedMemory>> memories_;
};

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_REGIONCHECK_H
