//===- ResolvedManifest.h - A manifest, all numbers resolved ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest names grids, tensors and buffers by numbers. A ResolvedManifest
// is the same content after all of them were found and every box was computed:
//
//   grid (x=2), tensor 5 rows split over x   placement, boxes [0,3) [3,5)
//
// Whatever of it reaches memory is checked here or in verifyResolved.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_RESOLVEDMANIFEST_H
#define DIVISI_RUNTIME_ARTIFACT_RESOLVEDMANIFEST_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/device/Box.h"
#include "divisi/runtime/device/Reduce.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/schema/artifact.pb.h"

#include <map>
#include <memory>
#include <span>

namespace divisi::rt {

/// Devices along axes; positions are row-major.
struct GridInfo {
  std::string name;              ///< As the program that was compiled had it.
  Dims sizes;                    ///< Per axis, the outermost first.
  std::vector<uint32_t> devices; ///< The rank at each position.

  /// The product of the sizes.
  size_t numPositions() const { return devices.size(); }
  /// Where `rank` stands; nothing outside of the grid.
  std::optional<size_t> positionOf(uint32_t rank) const;
  /// The index of `position` in the mixed radix of `axes`, the first being the
  /// most significant.
  int64_t shardIndex(size_t position, std::span<const uint32_t> axes) const;
  /// The positions that differ from `position` in `axes` only, by shardIndex.
  std::vector<size_t> group(size_t position,
                            std::span<const uint32_t> axes) const;
};

/// How one tensor lies on one grid.
struct Placement {
  DType type = DType::F32;                  ///< Of an element.
  Dims dims;                                ///< Of the whole tensor.
  uint32_t grid = 0;                        ///< Its number in the manifest.
  std::vector<Box> boxes;                   ///< One per position.
  std::vector<uint32_t> partialAxes;        ///< Ascending.
  ReduceKind partialKind = ReduceKind::Sum; ///< How summands combine.
  /// Whether every element is in some box. An operand may have gaps: what a
  /// strided operator does not read is nobody's.
  bool coversAll = true;

  /// Whether boxes hold summands, not values.
  bool isPartial() const { return !partialAxes.empty(); }
  /// Of the box of `position`.
  int64_t bytes(size_t position) const {
    return boxes[position].count() * byteWidth(type);
  }
  /// What kernels are told of that box.
  TensorInfo info(size_t position) const;
  friend bool operator==(const Placement &, const Placement &) = default;
};

/// A buffer's bytes: views have some of the buffer that they show.
struct ResolvedBuffer {
  /// Of its elements; owned by the manifest.
  const Placement *placement = nullptr;
  uint32_t root = 0;  ///< The buffer that is no view; itself, if it is none.
  int64_t offset = 0; ///< Its first byte in its root.
  /// Whether it has as many bytes as its root on all ranks.
  bool isWhole = true;
  int64_t bytes = 0; ///< If not: the most that a rank of the program has.
};

/// Both sides of a transfer, on all of its ranks.
struct ResolvedTransfer {
  const Placement *from = nullptr, *to = nullptr; ///< Owned by the manifest.
};

/// Queues, as instructions number them: communicators follow.
inline constexpr uint32_t computeQueue = 0, copyQueue = 1,
                          firstCommunicator = 2;

/// The memory space of the host, as buffers and calls number them; those of
/// Manifest.spaces follow.
inline constexpr uint32_t hostSpaceNumber = 0;
/// The global whose old or new value `buffer` is; nothing if it is of none.
std::optional<uint32_t> globalOf(const artifact::Buffer &buffer);

/// The name of a memory space.
std::string_view nameOfSpace(const artifact::Manifest &manifest,
                             uint32_t space);
/// The bytes of a program's arena in it.
int64_t arenaBytes(const artifact::Program &program, uint32_t space);

/// What calls compute, found once for all of them.
struct ResolvedOperator {
  const artifact::Operator *message = nullptr; ///< In the manifest.
  Attributes attributes;                       ///< Its own, parsed.
  /// Per part the placements of its results.
  std::vector<std::vector<const Placement *>> parts;

  /// The placement of value number `value` of the parts, which no operand is.
  const Placement &placement(uint32_t value) const;
};

/// A program with what its instructions refer to.
struct ResolvedProgram {
  const artifact::Program *message = nullptr; ///< In the manifest.
  std::vector<ResolvedBuffer> buffers;        ///< By number.
  std::map<int, ResolvedTransfer> transfers;  ///< By instruction.
  /// Per memory space: where the bytes of its arena are counted; then the end.
  std::vector<int64_t> arenas;
  /// Bytes of a buffer.
  struct Range {
    int64_t begin, end; ///< Counted through all arenas and what is written.
  };
  /// Of the globals that it writes: where their bytes, as many as the largest
  /// box of its ranks has, are counted. They follow those of the arenas.
  std::map<uint32_t, Range> writtenGlobals;
  /// The same of inputs of a body, behind those.
  std::map<uint32_t, Range> writtenInputs;
  int64_t bytes = 0; ///< Of all of these.

  /// The buffer whose bytes it has.
  const artifact::Buffer &root(uint32_t buffer) const {
    return message->buffers(static_cast<int>(buffers[buffer].root));
  }
  /// The memory space in which it lies.
  uint32_t space(uint32_t buffer) const { return root(buffer).space(); }
  /// Its bytes, in an arena, or of a global or an input that the program
  /// writes, which both the old value and the new one have. Nothing for what is
  /// only read: other inputs and globals.
  std::optional<Range> range(uint32_t buffer) const;
  /// `bytes 0 to 64 of the arena`: where `range` is, for messages.
  std::string describe(Range range, const artifact::Manifest &manifest) const;
};

/// The buffers that an instruction moves bytes between: none of a call, of a
/// commit, or of a loop.
std::vector<uint32_t> movedBuffers(const artifact::Instruction &instruction);
/// Whether devices do it with each other: a step between boxes in their memory.
bool isQueued(const ResolvedProgram &program,
              const artifact::Instruction &instruction);
/// Whether an instruction of the program is.
bool hasQueued(const ResolvedProgram &program);

/// An entry function with its programs.
struct ResolvedEntry {
  const artifact::Entry *message = nullptr; ///< In the manifest.
  /// In the order of arguments and results.
  std::vector<const Placement *> inputs, outputs;
  std::vector<ResolvedProgram> programs;
  std::map<uint32_t, size_t> programOfRank;

  /// Whether it is for a loop, not for users.
  bool isBody() const { return message->is_body(); }
};

/// What the whole manifest says. Points into it.
struct ResolvedManifest {
  const artifact::Manifest *manifest = nullptr; ///< Must outlive this object.
  std::vector<GridInfo> grids;             ///< By number, as the following.
  std::vector<ResolvedOperator> operators; ///< By number.
  std::vector<const Placement *> globals;  ///< By number.
  std::vector<bool> isUpdated;             ///< Per global: by some entry.
  /// Per global: where it lies, if it is updated; 0 if not.
  std::vector<uint32_t> stateSpaces;
  std::vector<ResolvedEntry> entries; ///< By number.
  std::vector<uint32_t> depths;       ///< Per entry: in how many loops it is.

  /// What `call` computes.
  const ResolvedOperator &operatorOf(const artifact::Call &call) const {
    return operators[call.op()];
  }
  /// The same, as its name.
  const std::string &nameOf(const artifact::Call &call) const {
    return operatorOf(call).message->op();
  }

  /// Whether some entry updates `global`, which lies with the host.
  bool isHostState(size_t global) const {
    return isUpdated[global] && stateSpaces[global] == hostSpaceNumber;
  }

  /// Computes the placement of tensor number `tensor`, once.
  Expected<const Placement *> place(uint32_t tensor);

private:
  std::map<uint32_t, std::unique_ptr<Placement>> placements_;
  int64_t numIntervals_ = 0; ///< In all placements.
};

/// Finds all references and computes all boxes. Fails (Invalid) at an index out
/// of range, an illegal grid or layout, a buffer outside of its arena or too
/// small for a rank's box. `manifest` must outlive the result.
Expected<std::unique_ptr<ResolvedManifest>>
resolveManifest(const artifact::Manifest &manifest);

/// EntryInfo::computedIn, with that of bodies that it runs.
DType leastExactType(const ResolvedManifest &resolved,
                     const ResolvedEntry &entry);
/// EntryInfo::isQuantized, likewise.
bool quantizes(const ResolvedManifest &resolved, const ResolvedEntry &entry);

/// `compute`, `copy`, or the name of the communicator.
std::string nameOfQueue(const artifact::Manifest &manifest, uint32_t queue);

/// `entry 'forward', program 0, instruction 3 (fc1)`: where an error is.
std::string describeInstruction(const ResolvedEntry &entry, size_t program,
                                size_t instruction);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_RESOLVEDMANIFEST_H
