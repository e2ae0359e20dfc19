//===- Outputs.cpp - Files that a verb writes -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outputs.h"

#include "Console.h"

#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Units.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

//===----------------------------------------------------------------------===//
// Before the work
//===----------------------------------------------------------------------===//

/// What the system knows of `path`, `-` being `standard`; nothing if there is
/// no such file, or it is none that could be lost.
static std::optional<struct stat> regularFile(const std::string &path,
                                              int standard) {
  struct stat about{};
  int failed =
      path == "-" ? fstat(standard, &about) : stat(path.c_str(), &about);
  return failed || !S_ISREG(about.st_mode) ? std::nullopt
                                           : std::optional(about);
}

void OutputCheck::addInput(const std::string &role, const std::string &path) {
  add(role, path);
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".pb") {
      add(role, entry.path().string());
    }
  }
}

void OutputCheck::addTensors(const std::string &role,
                             ArrayRef<std::string> arguments) {
  for (const std::string &argument : arguments) {
    addInput(role, argument);
    if (size_t equals = argument.rfind('='); equals != std::string::npos) {
      addInput(role, argument.substr(equals + 1));
    }
  }
}

void OutputCheck::add(const std::string &role, const std::string &path) {
  if (auto about = regularFile(path, STDIN_FILENO)) {
    inputs_.push_back({role, path, {about->st_dev, about->st_ino}});
  }
}

/// Equal for two paths to one file, be it there or not; empty for what is
/// written to as it is, except for stdout, which has room for one.
static std::string keyOf(const std::string &path) {
  auto about = regularFile(path, STDOUT_FILENO);
  if (about) {
    return formatv("{0}:{1}", about->st_dev, about->st_ino);
  }
  if (isWrittenInPlace(path)) {
    return isStdout(path) ? "stdout" : "";
  }
  std::string target = linkTarget(path);
  struct stat folder{};
  stat(folderOf(target).c_str(), &folder);
  return formatv("{0}:{1}/{2}", folder.st_dev, folder.st_ino,
                 target.substr(target.rfind('/') + 1));
}

/// What would fail after the work fails now.
static Status checkWritable(const std::string &path) {
  auto fails = [&](const std::string &why) {
    return makeError(ExitCode::File, "cannot write '", path, "': ", why);
  };
  struct stat about{};
  if (isWrittenInPlace(path)) {
    bool isFolder = stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
    return isFolder ? fails("it is a folder, expected a file") : Status();
  }
  std::string folder = folderOf(linkTarget(path));
  if (stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
    return fails("there is no folder '" + folder + "'");
  }
  bool isOpen = access(folder.c_str(), W_OK | X_OK) == 0;
  return isOpen ? Status() : fails(std::strerror(errno));
}

Status OutputCheck::addOutput(const std::string &flag,
                              const std::string &path) {
  if (auto about = regularFile(path, STDOUT_FILENO)) {
    for (const File &input : inputs_) {
      if (input.id ==
          std::pair<uint64_t, uint64_t>(about->st_dev, about->st_ino)) {
        return makeError(ExitCode::Usage, flag, " '", path, "' is ", input.role,
                         input.path == path
                             ? ""
                             : " '" + input.path + "' under another name",
                         ", which would be lost; choose another name");
      }
    }
  }
  std::string key = keyOf(path);
  for (const auto &[otherKey, other] : outputs_) {
    if (!key.empty() && key == otherKey) {
      return makeError(ExitCode::Usage, flag, " '", path,
                       "' is the same file as ", other,
                       "; give each a name of its own");
    }
  }
  outputs_.emplace_back(key, flag + " '" + path + "'");
  return checkWritable(path);
}

Status divisi::refuseTerminal(const std::string &path,
                              const std::string &what) {
  return isStdout(path) && isatty(STDOUT_FILENO)
             ? Status(ExitCode::Usage,
                      "stdout is a terminal, which cannot show " + what +
                          "; name a file, or send it through a pipe")
             : Status();
}

//===----------------------------------------------------------------------===//
// After it
//===----------------------------------------------------------------------===//

std::string divisi::countText(int64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void divisi::tellWritten(const std::string &path, const std::string &what,
                         std::optional<int64_t> bytes) {
  if (auto about = regularFile(path, STDOUT_FILENO);
      about && !bytes && !isStdout(path)) {
    bytes = about->st_size;
  }
  Message("wrote ") << (isStdout(path) ? "stdout" : path) << ": " << what
                    << (bytes ? ", a file of " + formatBytes(double(*bytes))
                              : "");
}
