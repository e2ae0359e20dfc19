//===- DataFiles.cpp - Which files the text of a module reads -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataFiles.h"

#include "InputFile.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

using namespace llvm;
using namespace divisi;

std::string divisi::normalName(StringRef name) {
  return std::filesystem::path(name.str()).lexically_normal().string();
}

/// The file at `name` in `folder`, by its whole name.
static std::string placeIn(const std::string &folder, const std::string &name) {
  return resolvedPath((std::filesystem::path(folder) / name).string());
}

/// What is found beneath `folder`, whatever `..` and `/` the name begins with:
/// first by all of it, last by its last part.
static std::optional<std::pair<std::string, divisi::Expected<MappedFile>>>
findByEnd(const std::string &folder, const std::string &name) {
  std::filesystem::path path = std::filesystem::path(name).relative_path();
  std::vector<std::string> parts;
  for (const std::filesystem::path &part : path) {
    if (part != "..") {
      parts.push_back(part.string());
    }
  }
  for (size_t first = 0; first < parts.size(); ++first) {
    std::filesystem::path end;
    for (size_t i = first; i < parts.size(); ++i) {
      end /= parts[i];
    }
    auto found = MappedFile::findBeneath(folder, end.string());
    if (!found) {
      return std::pair(placeIn(folder, end.string()),
                       divisi::Expected<MappedFile>(found.status()));
    }
    if (*found) {
      return std::pair(placeIn(folder, end.string()),
                       divisi::Expected<MappedFile>(std::move(**found)));
    }
  }
  return std::nullopt;
}

DataFiles::DataFiles(std::string folder, ArrayRef<std::string> given,
                     FileIdentities identities, GlobalStore &store)
    : folder_(std::move(folder)), given_(given), used_(given.size()),
      identities_(std::move(identities)), store_(store) {}

Status DataFiles::checkUsed() const {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!used_[i] && !std::filesystem::is_directory(given_[i])) {
      return makeError(ExitCode::Usage, "--data ", given_[i],
                       ": the dump names no file that ends in this name");
    }
  }
  return {};
}

/// The given files that may be the one that the text calls `name`, in order.
std::vector<DataFiles::Candidate>
DataFiles::amongGiven(const std::string &name) {
  std::vector<Candidate> candidates;
  std::string last = std::filesystem::path(name).filename().string();
  for (size_t i = 0; i < given_.size(); ++i) {
    if (std::filesystem::is_directory(given_[i])) {
      if (auto found = findByEnd(given_[i], name)) {
        candidates.push_back({found->first, std::move(found->second)});
      }
    } else if (std::filesystem::path(given_[i]).filename() == last) {
      used_[i] = true;
      candidates.push_back(
          {resolvedPath(given_[i]), MappedFile::open(given_[i]), true});
    }
  }
  return candidates;
}

/// Gives the store what was found, or why it cannot be read.
std::string DataFiles::add(Candidate candidate, const FileIdentity *identity) {
  if (identity) {
    store_.expect(candidate.place, *identity);
  }
  if (!candidate.file) {
    store_.addRefused(candidate.place, candidate.file.status());
  } else if (!identity && !candidate.isNamed) {
    store_.addRefused(
        candidate.place,
        makeError(ExitCode::Invalid, "nothing says what '", candidate.place,
                  "' has to be; name the file by --data ", candidate.place,
                  ", or say it on the module: divisi.files = {NAME = {bytes = ",
                  candidate.file->bytes().size(), ", sha256 = \"…\"}}"));
  } else {
    store_.addFile(candidate.place, std::move(*candidate.file));
  }
  return candidate.place;
}

/// The same of what lies beneath the text's own folder, or does not.
std::string DataFiles::addBeneath(const std::string &name,
                                  const FileIdentity *identity) {
  std::string place = placeIn(folder_, name);
  auto found = MappedFile::findBeneath(folder_, name);
  if (found && *found) {
    return add({place, std::move(**found)}, identity);
  }
  Status why = found ? makeError(ExitCode::File, "cannot read '", place,
                                 "': ", std::strerror(ENOENT))
                     : found.status();
  if (why.code() == ExitCode::Invalid && !name.empty()) {
    why = makeError(why.code(), why.message(),
                    ", or name it on the command line: --data ", place);
  }
  if (identity && why.code() == ExitCode::File) {
    why = makeError(why.code(), why.message(), "; expected ",
                    identityText(*identity),
                    " there: move model and plan together, put that file "
                    "there, or name it by --data");
  }
  return add({place, std::move(why)}, identity);
}

/// Of several files, the one that has the expected size.
std::string DataFiles::addNew(const std::string &name) {
  auto known = identities_.find(name);
  const FileIdentity *identity =
      known == identities_.end() ? nullptr : &known->second;
  std::vector<Candidate> candidates = amongGiven(name);
  for (Candidate &candidate : candidates) {
    if (candidate.file && identity &&
        int64_t(candidate.file->bytes().size()) == identity->bytes) {
      return add(std::move(candidate), identity);
    }
  }
  return candidates.empty() ? addBeneath(name, identity)
                            : add(std::move(candidates.front()), identity);
}

std::string DataFiles::find(StringRef name) {
  std::string normal = normalName(name);
  auto [known, isNew] = found_.try_emplace(normal);
  if (isNew) {
    known->second = addNew(normal);
  }
  return known->second;
}
