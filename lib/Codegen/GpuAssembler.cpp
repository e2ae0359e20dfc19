//===- GpuAssembler.cpp - NVIDIA's assembler ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GpuAssembler.h"

#include "divisi/Support/Interrupts.h"
#include "divisi/Support/TemporaryFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace divisi;

/// GPUs of data centres that there are.
static constexpr int kCubins[] = {80, 90, 100};

static int numberOf(StringRef architecture) {
  int number = 0;
  architecture.consume_front("sm_");
  architecture.getAsInteger(10, number);
  return number;
}

static divisi::Expected<std::string> readFile(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer) {
    return makeError(ExitCode::File, "cannot read '", path,
                     "': ", buffer.getError().message());
  }
  return (*buffer)->getBuffer().str();
}

/// Runs `command`, whose first word is a path; what it has said, in `folder`
/// while it runs. ExitCode::Internal with that if it fails.
static divisi::Expected<std::string> runTool(ArrayRef<std::string> command,
                                             const std::string &folder) {
  std::string said = folder + "/said", error;
  SmallVector<StringRef> words(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(said),
                                          StringRef(said)};
  int result = sys::ExecuteAndWait(words[0], words, std::nullopt, redirects, 0,
                                   0, &error);
  divisi::Expected<std::string> text = readFile(said);
  if (result != 0) {
    SmallVector<StringRef> lines;
    StringRef(text ? *text : "").trim().split(lines, '\n');
    return makeError(ExitCode::Internal, "'", command[0], "' failed: ", error,
                     join(lines, "\n  "));
  }
  return text;
}

static std::string findTool(StringRef name) {
  const char *home = std::getenv("CUDA_HOME");
  std::string own = std::string(home ? home : "/usr/local/cuda") + "/bin";
  ErrorOr<std::string> found = sys::findProgramByName(name, {StringRef(own)});
  if (!found) {
    found = sys::findProgramByName(name);
  }
  return found ? *found : "";
}

/// A new folder that only this user reads and writes, whose content will be
/// signed; removed at the end of `use`.
template <typename Use>
static auto withFolder(Use use) -> decltype(use(std::string())) {
  auto folder = TemporaryFolder::make(temporaryFolder(), "divisi-cubins-");
  return folder ? use(folder->path())
                : decltype(use(std::string()))(folder.status());
}

divisi::Expected<GpuAssembler> GpuAssembler::find() {
  GpuAssembler made;
  made.ptxas_ = findTool("ptxas");
  made.fatbinary_ = findTool("fatbinary");
  if (made.ptxas_.empty() || made.fatbinary_.empty()) {
    return makeError(ExitCode::Unsupported, "no ",
                     made.ptxas_.empty() ? "ptxas" : "fatbinary",
                     " in $CUDA_HOME/bin (/usr/local/cuda/bin) or PATH");
  }
  auto ask = [&](const std::string &folder) {
    Status status;
    auto say = [&](const std::string &tool, const char *flag,
                   std::string &answer) {
      divisi::Expected<std::string> said = runTool({tool, flag}, folder);
      status = status.isOk() ? said.status() : status;
      answer += said ? *said : "";
    };
    say(made.ptxas_, "--version", made.versions_);
    say(made.fatbinary_, "--version", made.versions_);
    say(made.ptxas_, "--help", made.help_);
    return status;
  };
  auto interrupts = std::make_unique<Interrupts>(); // leave no folder
  Status status = withFolder(ask);
  interrupts.reset();
  Interrupts::endIfRaised();
  if (!status.isOk()) {
    return makeError(ExitCode::Unsupported, status.message());
  }
  return made;
}

std::vector<std::string>
GpuAssembler::targets(const std::string &architecture) const {
  std::vector<std::string> targets;
  auto add = [&](const std::string &name) {
    if (StringRef(help_).contains("'" + name + "'")) {
      targets.push_back(name);
    }
  };
  add(architecture);
  for (int number : kCubins) {
    if (number > numberOf(architecture)) {
      add("sm_" + std::to_string(number));
    }
  }
  return targets;
}

/// Nothing is compressed: drivers that are older than the toolkit can then read
/// the PTX, whatever they make of the rest.
divisi::Expected<std::string>
GpuAssembler::assembleOne(const std::string &ptx,
                          const std::string &architecture,
                          const std::string &folder) const {
  std::string source = folder + "/kernel.ptx", image = folder + "/image";
  std::error_code error;
  raw_fd_ostream file(source, error);
  file << ptx;
  file.close();
  if (error || file.has_error()) {
    return makeError(ExitCode::File, "cannot write '", source, "'");
  }
  std::vector<std::string> pack = {fatbinary_, "--64", "--compress=false",
                                   "--create=" + image};
  for (const std::string &target : targets(architecture)) {
    std::string cubin = folder + "/" + target + ".cubin";
    auto made =
        runTool({ptxas_, "-arch=" + target, source, "-o", cubin}, folder);
    if (!made) {
      return made.status();
    }
    pack.push_back("--image3=kind=elf,sm=" + std::to_string(numberOf(target)) +
                   ",file=" + cubin);
  }
  pack.push_back("--image3=kind=ptx,sm=" +
                 std::to_string(numberOf(architecture)) + ",file=" + source);
  auto packed = runTool(pack, folder);
  return packed ? readFile(image) : packed;
}

divisi::Expected<std::vector<std::string>>
GpuAssembler::assemble(std::span<const std::string> ptx,
                       const std::string &architecture,
                       const UserCache *cache) const {
  std::vector<std::string> images(ptx.size());
  std::vector<Status> ends(ptx.size());
  std::string how =
      "cubins " + join(targets(architecture), " ") + "\n" + versions_ + "\n";
  auto make = [&](size_t i) {
    if (Interrupts::raised()) {
      return;
    }
    std::string source = how + ptx[i];
    if (auto known = cache ? cache->find(source) : std::nullopt) {
      images[i] = std::move(*known);
      return;
    }
    auto image = withFolder([&](const std::string &folder) {
      return assembleOne(ptx[i], architecture, folder);
    });
    ends[i] = image.status();
    if (image) {
      images[i] = std::move(*image);
      if (cache) {
        cache->keep(source, images[i]);
      }
    }
  };
  {
    Interrupts interrupts; // leave no folders
    DefaultThreadPool threads(hardware_concurrency());
    for (size_t i = 0; i < ptx.size(); ++i) {
      threads.async([&make, i] { make(i); });
    }
    threads.wait();
  }
  Interrupts::endIfRaised();
  for (const Status &end : ends) {
    if (!end.isOk()) {
      return end;
    }
  }
  return images;
}
