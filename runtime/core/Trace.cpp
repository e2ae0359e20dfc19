//===- Trace.cpp - What a run did, for a trace viewer ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Trace.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/OutputFile.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// A JSON string; names of nodes are anything.
static std::string quote(const std::string &text) {
  std::string json = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + "\"";
}

/// All of the text or, where it fails, no file.
static Status writeText(const std::string &path, const std::string &text) {
  Expected<OutputFile> file = OutputFile::create(path);
  Status status = file ? file->write(text) : file.status();
  return status.isOk() ? file->commit() : status;
}

/// What kind of work an instruction is: the operator, or the collective.
static std::string workOf(const pb::Manifest &manifest,
                          const pb::Instruction &instruction) {
  switch (instruction.what_case()) {
  case pb::Instruction::kCall:
    return manifest.operators(static_cast<int>(instruction.call().op())).op();
  case pb::Instruction::kCollective:
    return instruction.collective().kind();
  case pb::Instruction::kTransfer:
    return "transfer";
  case pb::Instruction::kCopy:
    return "copy";
  case pb::Instruction::kOutput:
    return "output";
  case pb::Instruction::kLoop:
    return "loop";
  default:
    return "commit";
  }
}

static bool isTraced(const RankTask &task) {
  return task.kind != RankTask::Kind::Nothing;
}

/// Nanoseconds as microseconds with three digits.
static std::string microseconds(int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%lld.%03lld",
                static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text;
}

/// The names of a rank and its queues, then its events since `start`.
static void writeRank(std::ostream &os, const pb::Manifest &manifest,
                      const pb::Program &program, const TraceRank &rank,
                      int64_t start) {
  os << "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " << rank.rank
     << ", \"args\": {\"name\": \"rank " << rank.rank << "\"}}";
  std::set<uint32_t> queues;
  for (const pb::Instruction &instruction : program.instructions()) {
    queues.insert(instruction.queue());
  }
  for (uint32_t queue : queues) {
    os << ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " << rank.rank
       << ", \"tid\": " << queue
       << ", \"args\": {\"name\": " << quote(nameOfQueue(manifest, queue))
       << "}}";
  }
  for (size_t i = 0; i < rank.program->events().size(); ++i) {
    const TaskEvent &event = rank.program->events()[i];
    const RankTask &task = rank.program->tasks()[i];
    if (!isTraced(task)) {
      continue;
    }
    const pb::Instruction &instruction =
        program.instructions(static_cast<int>(task.instruction));
    std::string work = workOf(manifest, instruction);
    os << ",\n{\"ph\": \"X\", \"name\": "
       << quote(instruction.location().empty() ? work : instruction.location())
       << ", \"cat\": " << quote(work) << ", \"pid\": " << rank.rank
       << ", \"tid\": " << instruction.queue()
       << ", \"ts\": " << microseconds(event.begin - start)
       << ", \"dur\": " << microseconds(event.end - event.begin)
       << ", \"args\": {\"instruction\": " << task.instruction << "}}";
  }
}

Status divisi::rt::writeChromeTrace(const std::string &path,
                                    const pb::Manifest &manifest,
                                    const ResolvedEntry &entry,
                                    std::span<const TraceRank> ranks) {
  int64_t start = INT64_MAX;
  for (const TraceRank &rank : ranks) {
    for (size_t i = 0; i < rank.program->events().size(); ++i) {
      if (isTraced(rank.program->tasks()[i])) {
        start = std::min(start, rank.program->events()[i].begin);
      }
    }
  }
  std::ostringstream os;
  const char *separator = "";
  os << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  for (const TraceRank &rank : ranks) {
    const pb::Program &program =
        *entry.programs[entry.programOfRank.at(rank.rank)].message;
    os << separator << "\n";
    separator = ",";
    writeRank(os, manifest, program, rank, start);
  }
  os << "\n]}\n";
  return writeText(path, os.str());
}

/// One note; times are milliseconds before `end`.
static void writeStep(std::ostream &os, const ResolvedManifest &resolved,
                      uint32_t rank, const LastSteps::Note &note, int64_t end) {
  const ResolvedEntry &entry = resolved.entries[note.entry];
  os << "{\"run\": " << note.run
     << ", \"entry\": " << quote(entry.message->name());
  if (note.instruction == LastSteps::endOfEntry) {
    os << ", \"what\": \"end of the entry\"";
  } else {
    const pb::Instruction &instruction =
        entry.programs[entry.programOfRank.at(rank)].message->instructions(
            static_cast<int>(note.instruction));
    os << ", \"instruction\": " << note.instruction
       << ", \"what\": " << quote(workOf(*resolved.manifest, instruction))
       << ", \"node\": " << quote(instruction.location()) << ", \"tag\": "
       << (instruction.has_transfer() ? instruction.transfer().tag()
                                      : instruction.collective().tag());
  }
  os << ", \"event\": " << (note.isDone ? "\"done\"" : "\"came\"")
     << ", \"us_before\": " << microseconds(end - note.time) << "}";
}

Status divisi::rt::writeLastSteps(const std::string &path,
                                  const ResolvedManifest &resolved,
                                  std::span<const StepsOfRank> ranks) {
  int64_t end = steadyNanoseconds();
  std::ostringstream os;
  os << "{\"schema_version\": 1, \"ranks\": [";
  const char *separator = "";
  for (const StepsOfRank &each : ranks) {
    os << separator << "\n{\"rank\": " << each.rank
       << ", \"works_at\": " << quote(each.worksAt) << ", \"steps\": [";
    separator = ",";
    const char *comma = "";
    for (const LastSteps::Note &note : each.steps->notes()) {
      os << comma << "\n";
      writeStep(os, resolved, each.rank, note, end);
      comma = ",";
    }
    os << "]}";
  }
  os << "]}\n";
  return writeText(path, os.str());
}
