//===- GlobalBoxesTest.cpp - Tests of the globals of ranks ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GlobalBoxes.h"
#include "test/runtime/artifact/ManifestBuilder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
namespace fs = std::filesystem;

/// What may index is the ranks' own: a kernel that has checked indices reads
/// them again.
TEST(GlobalBoxesTest, nobodyChangesIndices) {
  for (const char *type : {"i64", "i32", "u16"}) {
    ManifestBuilder builder(1);
    std::vector<int64_t> values(512, 3);
    auto bytes = std::as_bytes(std::span<const int64_t>(values));
    int64_t count = int64_t(bytes.size()) / byteWidth(*parseDType(type));
    TensorRef tensor =
        builder.tensor(builder.grid({1}), {count}, {{}}, {}, "sum", type);
    builder.global("indices", "constant", tensor);
    std::string path = temporaryFile("boxes.divisi");
    GlobalData data{bytes, {}, 0};
    ASSERT_TRUE(writeArtifact(path, builder.manifest, {&data, 1}));
    auto file = ArtifactFile::open(path);
    ASSERT_TRUE(file) << file.status().message();
    auto resolved = resolveManifest(file->manifest());
    ASSERT_TRUE(resolved) << resolved.status().message();
    uint32_t rank = 0;
    SharedBoxes shared;
    auto boxes = GlobalBoxes::load(**resolved, *file, shared, {&rank, 1});
    ASSERT_TRUE(boxes && boxes->acquire(0, 0).isOk());
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        << std::string(fs::file_size(path), '?');
    EXPECT_EQ(std::memcmp(boxes->data(0, 0), bytes.data(), bytes.size()), 0)
        << type;
    fs::remove(path);
  }
}
