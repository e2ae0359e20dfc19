//===- CodeCacheTest.cpp - Code that was made before ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/Support/UserCache.h"
#include "divisi/Support/UserKey.h"
#include "divisi/runtime/code/GridCode.h"
#include "test/Codegen/DrawnRegion.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;
namespace fs = std::filesystem;

namespace {

/// Folders of a user's own, which are removed in the end.
class CodeCacheTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("divisi-cache-" + std::to_string(getpid()));
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    std::error_code none;
    for (const auto &entry :
         fs::directory_iterator(folder_ / "divisi/native", none)) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  fs::path folder_;
};

} // namespace

TEST_F(CodeCacheTest, KeepsWhatItIsGiven) {
  UserCache cache("native");
  EXPECT_EQ(cache.find("source"), std::nullopt);
  cache.keep("source", "code");
  EXPECT_EQ(cache.find("source"), "code");
  EXPECT_EQ(UserCache("native").find("source"), "code");
  EXPECT_EQ(cache.find("another"), std::nullopt);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(CodeCacheTest, BelievesNobodyElse) {
  UserCache("native").keep("source", "code");
  // The first byte is any that it can be, for the key is drawn.
  std::fstream file(entries()[0],
                    std::ios::in | std::ios::out | std::ios::binary);
  auto first = char(file.get());
  file.seekp(0);
  file.put(char(first ^ 1));
  file.close();
  EXPECT_EQ(UserCache("native").find("source"), std::nullopt);
  UserCache("native").keep("source", "code");
  fs::resize_file(entries()[0], 7);
  EXPECT_EQ(UserCache("native").find("source"), std::nullopt);
  UserCache("native").keep("source", "code");
  fs::remove(userKeyPath());
  EXPECT_EQ(UserCache("native").find("source"), std::nullopt);
}

TEST_F(CodeCacheTest, TakesNothingFromOtherCaches) {
  UserCache("proofs").keep("source", "all is proved");
  fs::create_directories(folder_ / "divisi/native");
  for (const auto &entry : fs::directory_iterator(folder_ / "divisi/proofs")) {
    fs::rename(entry, folder_ / "divisi/native" / entry.path().filename());
  }
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(UserCache("native").find("source"), std::nullopt);
}

// Opening one to read waits for a writer, who never comes.
TEST_F(CodeCacheTest, WaitsForNoPipe) {
  UserCache("native").keep("source", "code");
  fs::path entry = entries()[0];
  fs::remove(entry);
  ASSERT_EQ(mkfifo(entry.c_str(), 0600), 0);
  alarm(20);
  EXPECT_EQ(UserCache("native").find("source"), std::nullopt);
  UserCache("native").keep("source", "code");
  alarm(0);
  EXPECT_EQ(UserCache("native").find("source"), "code");
}

TEST_F(CodeCacheTest, DropsTheOldest) {
  UserCache cache("native");
  std::string large(UserCache::mostBytes / 4, 'x');
  auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 5; ++i) {
    cache.keep(std::to_string(i), large);
    for (const fs::path &path : entries()) { // each older than the next
      fs::last_write_time(path,
                          fs::last_write_time(path) - std::chrono::seconds(10));
    }
  }
  EXPECT_EQ(cache.find("0"), std::nullopt);
  EXPECT_EQ(cache.find("1"), std::nullopt); // codes carry a few bytes more
  EXPECT_EQ(cache.find("4"), large);
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_LT(fs::last_write_time(entries()[0]), now);
}

TEST_F(CodeCacheTest, GivesTheSameCode) {
  unsigned seed = 0;
  test::RegionCall call = test::DrawnRegion(seed).call(20);
  while (!generatesCode(call.site())) {
    call = test::DrawnRegion(++seed).call(20);
  }
  auto made = generateCode(call.site(), "x86-64-v3");
  UserCache cache("native");
  auto kept = generateCode(call.site(), "x86-64-v3", &cache);
  ASSERT_EQ(entries().size(), 1u);
  auto found = generateCode(call.site(), "x86-64-v3", &cache);
  ASSERT_TRUE(made && kept && found);
  EXPECT_EQ(*made, *kept);
  EXPECT_EQ(*made, *found);
  // Of another processor there is none.
  EXPECT_NE(*generateCode(call.site(), "x86-64-v4", &cache), *made);
  EXPECT_EQ(entries().size(), 2u);
}

/// Planning asks for the same kernels again and again.
TEST_F(CodeCacheTest, GivesTheSameKernels) {
  unsigned seed = 0;
  test::RegionCall call = test::DrawnRegion(seed).call(20);
  while (!generatesGridKernel(call.site())) {
    call = test::DrawnRegion(++seed).call(20);
  }
  UserCache cache("native");
  size_t count = 0;
  for (const std::string &target :
       {rt::ptxTarget("sm_80"), rt::ptxTarget("sm_90"),
        rt::emulatedTarget("x86-64-v3")}) {
    auto made = generateGridKernel(call.site(), target);
    auto kept = generateGridKernel(call.site(), target, &cache);
    ASSERT_EQ(entries().size(), ++count) << target;
    auto found = generateGridKernel(call.site(), target, &cache);
    ASSERT_TRUE(made && kept && found) << target;
    EXPECT_EQ(*made, *kept);
    EXPECT_EQ(*made, *found);
    EXPECT_EQ(entries().size(), count);
  }
}
