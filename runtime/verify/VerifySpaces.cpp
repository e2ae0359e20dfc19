//===- VerifySpaces.cpp - Where and how buffers of instructions lie -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reads and writes one memory space. What lies in another is copied by
// an instruction, so that a program says what it costs to leave a device.
// Formats stay between kernels: nothing else knows what they mean, but for
// collectives between boxes that have their channels last.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyProgram.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

std::string ProgramVerifier::spaceOf(uint32_t buffer) const {
  return "'" +
         std::string(nameOfSpace(*resolved_.manifest, program_.space(buffer))) +
         "'";
}

Status ProgramVerifier::checkInSpace(const pb::Call &call,
                                     uint32_t buffer) const {
  if (program_.space(buffer) == call.space()) {
    return {};
  }
  return invalid("its kernel works in memory space '",
                 nameOfSpace(*resolved_.manifest, call.space()),
                 "', and buffer ", buffer, " lies in ", spaceOf(buffer),
                 ": it must be copied");
}

/// What it says to write in place is all that it does write in place.
Status ProgramVerifier::verifyInPlace(const pb::Call &call) const {
  std::set<std::pair<uint32_t, uint32_t>> said;
  for (const pb::InPlace &pair : call.in_place()) {
    said.insert({pair.operand(), pair.result()});
  }
  for (int r = 0; r < call.results_size(); ++r) {
    for (int o = 0; o < call.operands_size(); ++o) {
      bool shares = haveSamePlace(call.operands(o), call.results(r)) &&
                    overlap(call.operands(o), call.results(r));
      bool isSaid = said.erase({o, r}) != 0;
      if (shares && !isSaid) {
        return invalid("result ", r, " overlaps operand ", o,
                       ", which the call does not declare");
      }
      if (!shares && isSaid) {
        said.insert({o, r});
      }
    }
  }
  return said.empty() ? Status()
                      : invalid("it declares that result ",
                                said.begin()->second, " overlaps operand ",
                                said.begin()->first, ", but it does not");
}

Status ProgramVerifier::verifyCode(const pb::Call &call) const {
  auto codes = static_cast<uint32_t>(resolved_.manifest->codes_size());
  for (auto [isThere, code] : {std::pair(call.has_code(), call.code()),
                               {call.has_fallback(), call.fallback()}}) {
    if (isThere && code >= codes) {
      return invalid("code ", code, " of ", codes);
    }
  }
  return {};
}

Status ProgramVerifier::verifyMove(const pb::Instruction &instruction) const {
  std::vector<uint32_t> buffers = movedBuffers(instruction);
  for (uint32_t buffer : buffers) {
    const std::string &format = program_.root(buffer).format();
    bool isKnown = instruction.has_collective() && format == channelsLast &&
                   placement(buffer).dims.size() >= 3 &&
                   program_.space(buffer) == hostSpaceNumber;
    if (!format.empty() && !isKnown) {
      return invalid("buffer ", buffer, " has the format '", format,
                     "', which only calls support");
    }
  }
  if (instruction.has_collective() && program_.root(buffers[0]).format() !=
                                          program_.root(buffers[1]).format()) {
    return invalid(
        "one of buffers ", buffers[0], " and ", buffers[1],
        " has its channels last, but the other does not: it must be packed");
  }
  if (instruction.has_output() && !entry_.isBody() &&
      program_.space(buffers[0]) != hostSpaceNumber) {
    return invalid("it outputs buffer ", buffers[0], ", which lies in ",
                   spaceOf(buffers[0]), ", expected host memory");
  }
  if (buffers.size() < 2 ||
      program_.space(buffers[0]) == program_.space(buffers[1])) {
    return {};
  }
  bool touchesHost = program_.space(buffers[0]) == hostSpaceNumber ||
                     program_.space(buffers[1]) == hostSpaceNumber;
  if (instruction.has_copy() && instruction.queue() == copyQueue &&
      touchesHost) {
    return {};
  }
  return invalid(
      "it goes from ", spaceOf(buffers[0]), " to ", spaceOf(buffers[1]),
      ", which only a copy on queue 'copy' may do, from or to the host");
}
