//===- ReplayTest.cpp - The files of the corpus, read again ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fuzzers start from, and what once broke a reader.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace divisi;

namespace {

/// A reader, and the folder of its files.
struct Case {
  const char *name;
  void (*read)(std::string_view bytes);
};

class ReplayTest : public testing::TestWithParam<Case> {};

} // namespace

static const Case kCases[] = {
    {"Clusters", fuzz::readClusters},   {"Hosts", fuzz::readHosts},
    {"Manifests", fuzz::readManifests}, {"Models", fuzz::readModels},
    {"Modules", fuzz::readModules},     {"Problems", fuzz::readProblems},
    {"Rules", fuzz::readRules},         {"Tensors", fuzz::readTensors}};

TEST_P(ReplayTest, readsItsFiles) {
  std::filesystem::path folder =
      std::filesystem::path(DIVISI_CORPUS) / GetParam().name;
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  for (const auto &path : files) {
    SCOPED_TRACE(path.string());
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(bytes.empty());
    std::cerr << path.filename().string() << "\n"; // seen if it crashes
    GetParam().read(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, ReplayTest, testing::ValuesIn(kCases),
                         [](const auto &each) { return each.param.name; });
