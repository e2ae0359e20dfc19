//===- ReadBuffers.cpp - Where the buffers of a program lie ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/artifact/ResolveProgram.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

namespace {

/// Reads the buffers of one program.
class BufferReader {
public:
  BufferReader(ResolvedManifest &resolved, const ResolvedEntry &entry,
               ResolvedProgram &program)
      : resolved_(resolved), entry_(entry), program_(program) {}

  Status read(const pb::Buffer &message);

private:
  Status checkView(const pb::Buffer &message, const Placement &placement,
                   ResolvedBuffer &view) const;
  Status placeShown(const pb::Buffer &message, const Placement &placement,
                    ResolvedBuffer &view) const;
  Status checkWhere(const pb::Buffer &message,
                    const Placement &placement) const;
  Status checkSpace(const pb::Buffer &message) const;
  Status checkSize(const pb::Buffer &message, const Placement &placement) const;

  ResolvedManifest &resolved_;
  const ResolvedEntry &entry_;
  ResolvedProgram &program_;
  /// Per global and memory space, the first buffer.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> oldValues_;
};

} // namespace

Status BufferReader::checkView(const pb::Buffer &message,
                               const Placement &placement,
                               ResolvedBuffer &view) const {
  if (message.view() >= program_.buffers.size()) {
    return invalid("a view of buffer ", message.view(),
                   ", which does not come before it");
  }
  const ResolvedBuffer &source = program_.buffers[message.view()];
  view.root = source.root;
  if (source.placement->grid != placement.grid) {
    return invalid("a view on another grid");
  }
  int64_t offset = message.view_offset();
  if (offset < 0 || offset % kernelAlignment != 0) {
    return invalid("a view from byte ", offset, " on; expected a multiple of ",
                   kernelAlignment);
  }
  view.isWhole = source.isWhole && offset == 0;
  for (size_t p = 0; p < placement.boxes.size(); ++p) {
    int64_t bytes = placement.bytes(p), room = source.placement->bytes(p);
    view.isWhole = view.isWhole && bytes == room;
    if (source.placement->type != placement.type || bytes > room ||
        (bytes != 0 && offset > room - bytes)) {
      return invalid("a view of ", bytes, " bytes from byte ", offset,
                     " on of a buffer of ", room, " at position ", p);
    }
  }
  return view.isWhole ? Status() : placeShown(message, placement, view);
}

/// Where a view of some bytes has them.
Status BufferReader::placeShown(const pb::Buffer &message,
                                const Placement &placement,
                                ResolvedBuffer &view) const {
  const ResolvedBuffer &source = program_.buffers[message.view()];
  const GridInfo &grid = resolved_.grids[placement.grid];
  if (!program_.root(message.view()).format().empty()) {
    return invalid("a view of some bytes of a buffer with a format");
  }
  for (uint32_t rank : program_.message->ranks()) {
    if (std::optional<size_t> position = grid.positionOf(rank)) {
      view.bytes = std::max(view.bytes, placement.bytes(*position));
    }
  }
  // Where no rank has one of these bytes, they are nowhere.
  view.offset = view.bytes == 0 ? 0 : source.offset + message.view_offset();
  return {};
}

Status BufferReader::checkWhere(const pb::Buffer &message,
                                const Placement &placement) const {
  switch (message.where_case()) {
  case pb::Buffer::kArenaOffset: {
    int64_t offset = message.arena_offset();
    int64_t arena = arenaBytes(*program_.message, message.space());
    if (offset < 0 || offset % 64 != 0 || message.bytes() < 0 ||
        offset > arena || message.bytes() > arena - offset) {
      return invalid("bytes ", offset, " + ", message.bytes(),
                     " of an arena of ", arena,
                     "; expected a multiple of 64 and inside of it");
    }
    return {};
  }
  case pb::Buffer::kGlobal:
  case pb::Buffer::kNewGlobal: {
    uint32_t global = *globalOf(message);
    if (global >= resolved_.globals.size()) {
      return invalid("global ", global, " of ", resolved_.globals.size());
    }
    if (!(*resolved_.globals[global] == placement)) {
      return invalid("its layout differs from that of its global at rest");
    }
    return {};
  }
  case pb::Buffer::kInput:
    if (message.input() >= entry_.inputs.size()) {
      return invalid("input ", message.input(), " of ", entry_.inputs.size());
    }
    if (!(*entry_.inputs[message.input()] == placement)) {
      return invalid("its layout differs from that of its input");
    }
    return {};
  case pb::Buffer::kNewInput:
    if (!entry_.isBody() || message.new_input() == 0 ||
        message.new_input() > entry_.outputs.size() ||
        message.new_input() >= entry_.inputs.size()) {
      return invalid("the new value of input ", message.new_input(),
                     ", which is carried by no loop");
    }
    if (!(*entry_.inputs[message.new_input()] == placement)) {
      return invalid("its layout differs from that of its input");
    }
    return {};
  default:
    return invalid("it has no location");
  }
}

/// Which memory a buffer may lie in, and how.
Status BufferReader::checkSpace(const pb::Buffer &message) const {
  auto spaces = static_cast<uint32_t>(resolved_.manifest->spaces_size());
  if (message.space() > spaces) {
    return invalid("memory space ", message.space(), " of ", spaces + 1);
  }
  if (message.space() != hostSpaceNumber && !message.has_arena_offset() &&
      !globalOf(message) && !(message.has_input() && entry_.isBody())) {
    return invalid("it is in memory space '",
                   nameOfSpace(*resolved_.manifest, message.space()),
                   "', where only arenas, globals and inputs of bodies are");
  }
  if (!message.format().empty() && !message.has_arena_offset()) {
    return invalid("it has the format '", message.format(),
                   "', which only a buffer in an arena may have");
  }
  return {};
}

Status BufferReader::checkSize(const pb::Buffer &message,
                               const Placement &placement) const {
  const GridInfo &grid = resolved_.grids[placement.grid];
  for (uint32_t rank : program_.message->ranks()) {
    std::optional<size_t> position = grid.positionOf(rank);
    if (!position) {
      return invalid("its grid '", grid.name, "' does not have rank ", rank,
                     " of the program");
    }
    if (message.where_case() == pb::Buffer::kArenaOffset &&
        placement.bytes(*position) > message.bytes()) {
      return invalid("rank ", rank, " needs ", placement.bytes(*position),
                     " bytes, got ", message.bytes());
    }
  }
  return {};
}

Status BufferReader::read(const pb::Buffer &message) {
  Expected<const Placement *> placement = resolved_.place(message.tensor());
  Status status = placement ? checkSpace(message) : placement.status();
  if (!status.isOk()) {
    return status;
  }
  ResolvedBuffer buffer;
  buffer.root = static_cast<uint32_t>(program_.buffers.size());
  if (message.has_global()) {
    // All that show the old value of a global are one.
    buffer.root =
        oldValues_.try_emplace({message.global(), message.space()}, buffer.root)
            .first->second;
  }
  status = message.where_case() == pb::Buffer::kView
               ? checkView(message, **placement, buffer)
               : checkWhere(message, **placement);
  if (status.isOk()) {
    status = checkSize(message, **placement);
  }
  buffer.placement = *placement;
  program_.buffers.push_back(buffer);
  return status;
}

Status divisi::rt::readBuffers(ResolvedManifest &resolved,
                               const ResolvedEntry &entry,
                               ResolvedProgram &program) {
  BufferReader reader(resolved, entry, program);
  for (int i = 0; i < program.message->buffers_size(); ++i) {
    Status status = reader.read(program.message->buffers(i));
    if (!status.isOk()) {
      return status.in("buffer " + std::to_string(i));
    }
  }
  return {};
}
