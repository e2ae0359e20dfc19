//===- ArtifactFileTest.cpp - Tests of .divisi files ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Sha256.h"
#include "test/runtime/artifact/ManifestBuilder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A folder for one test, with an artifact of three globals in it: a and b have
/// equal bytes, c begins as zeros.
class ArtifactFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = temporaryFile("artifact");
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    path_ = folder_ + "/x.divisi";
    TensorRef tensor = builder_.tensor(builder_.grid({1}), {3}, {{}});
    builder_.global("a", "parameter", tensor);
    builder_.global("b", "derived", tensor);
    builder_.global("c", "state", tensor);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const float>(values_));
  }
  Status write(const std::string &external = {}, int64_t offset = 0) {
    GlobalData a{bytes(), external, offset};
    std::vector<GlobalData> data = {a, {bytes(), {}, 0}, {}};
    return writeArtifact(path_, builder_.manifest, data).status();
  }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string &content, const std::string &name = {}) {
    std::ofstream(name.empty() ? path_ : folder_ + "/" + name, std::ios::binary)
        << content;
  }
  Status open(const ArtifactOptions &options = {}) const {
    return ArtifactFile::open(path_, options).status();
  }

  ManifestBuilder builder_{1};
  std::vector<float> values_ = {1, 2, 3};
  std::string folder_, path_;
};

} // namespace

TEST_F(ArtifactFileTest, roundTripsAndStoresEqualBytesOnce) {
  ASSERT_TRUE(write().isOk());
  auto file = ArtifactFile::open(path_, {{}, /*verifyHashes=*/true});
  ASSERT_TRUE(file) << file.status().message();
  const pb::Manifest &manifest = file->manifest();
  EXPECT_EQ(manifest.producer(), "test");
  EXPECT_EQ(manifest.globals(0).offset(), 4096);
  EXPECT_EQ(manifest.globals(1).offset(), 4096);
  EXPECT_EQ(manifest.globals(2).bytes(), 0);
  EXPECT_EQ(manifest.file_bytes(), 4096 + 12);
  auto *floats = reinterpret_cast<const float *>(file->globalBytes(1).data());
  EXPECT_THAT(std::span<const float>(floats, 3), ElementsAre(1, 2, 3));
  EXPECT_TRUE(file->globalBytes(2).empty());
}

TEST_F(ArtifactFileTest, theSameContentGivesTheSameBytes) {
  ASSERT_TRUE(write().isOk());
  std::string first = read();
  ASSERT_TRUE(write().isOk());
  EXPECT_EQ(read(), first);
  // Nothing but the artifact remains: no temporary file.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(ArtifactFileTest, everyFlippedBitBeforeTheDataIsFound) {
  ASSERT_TRUE(write().isOk());
  std::string good = read();
  size_t manifestEnd = 144 + static_cast<unsigned char>(good[12]) +
                       256 * static_cast<unsigned char>(good[13]);
  for (size_t i = 0; i < manifestEnd; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    overwrite(bad);
    ExitCode code = open().code();
    bool isVersion = i >= 8 && i < 12;
    EXPECT_EQ(code, isVersion ? ExitCode::Version : ExitCode::Invalid) << i;
  }
}

TEST_F(ArtifactFileTest, nobodyVouchesForNothing) {
  ASSERT_TRUE(write().isOk());
  std::string bad = read();
  bad[60] = 1;
  overwrite(bad);
  EXPECT_THAT(open().message(),
              HasSubstr("damaged artifact: it has no native code to sign"));
}

TEST_F(ArtifactFileTest, truncationIsFoundAtEveryLength) {
  ASSERT_TRUE(write().isOk());
  std::string good = read();
  for (size_t size = 0; size < good.size(); size += size < 600 ? 1 : 97) {
    overwrite(good.substr(0, size));
    EXPECT_EQ(open().code(), ExitCode::Invalid) << size;
  }
  overwrite(good.substr(0, good.size() - 1));
  EXPECT_THAT(open().message(), HasSubstr("it may be truncated"));
}

TEST_F(ArtifactFileTest, anotherVersionHasItsOwnCode) {
  ASSERT_TRUE(write().isOk());
  std::string other = read();
  for (auto [version, advice] :
       {std::pair(1, ": compile the model again"),
        std::pair(11, ": update it, or compile the model again")}) {
    other[8] = static_cast<char>(version);
    overwrite(other);
    EXPECT_EQ(open().code(), ExitCode::Version);
    EXPECT_THAT(open().message(),
                testing::EndsWith("artifact of format version " +
                                  std::to_string(version) +
                                  "; this Divisi reads version 10" + advice));
  }
}

TEST_F(ArtifactFileTest, changedDataIsFoundWhenAskedFor) {
  ASSERT_TRUE(write().isOk());
  std::string changed = read();
  changed.back() ^= 1;
  overwrite(changed);
  EXPECT_TRUE(open().isOk());
  Status status = open({{}, /*verifyHashes=*/true});
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(), HasSubstr("global 'a' does not have the hash"));
}

TEST_F(ArtifactFileTest, nobodyChangesWhatWasChecked) {
  builder_.manifest.add_codes()->set_target("adder");
  std::string code(5000, 'c');
  auto codeBytes = std::as_bytes(std::span<const char>(code));
  GlobalData a{bytes(), {}, 0};
  std::vector<GlobalData> data = {a, a, {}};
  ASSERT_TRUE(writeArtifact(path_, builder_.manifest, data, {&codeBytes, 1}));
  auto file = ArtifactFile::open(path_, {{}, /*verifyHashes=*/true});
  ASSERT_TRUE(file) << file.status().message();
  auto isAsItWas = [&] {
    return std::ranges::equal(file->codeBytes(0), codeBytes) &&
           std::ranges::equal(file->globalBytes(0), bytes()) &&
           file->manifest().producer() == "test";
  };
  // In place: another file of that name would change no mapping.
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
      << std::string(fs::file_size(path_), '?');
  EXPECT_TRUE(isAsItWas());
  file->letGo(0, 0, 12);
  fs::resize_file(path_, 10);
  EXPECT_TRUE(isAsItWas());
}

/// Standing in a pipe until somebody reads, a writer is slower than one who
/// changes what it has summed.
TEST_F(ArtifactFileTest, bytesThatChangeWhileTheyAreWrittenAreAnError) {
  values_.assign(1 << 20, 1);
  std::string weights = folder_ + "/weights";
  std::ofstream(weights, std::ios::binary)
      .write(reinterpret_cast<const char *>(values_.data()), 4 << 20);
  auto mapped = MappedFile::open(weights);
  ASSERT_TRUE(mapped);
  builder_.manifest.clear_globals();
  builder_.global("a", "parameter",
                  builder_.tensor(builder_.grid({1}), {1 << 20}, {{}}));
  std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Status status;
  std::thread writer([&] {
    GlobalData data{mapped->bytes(), {}, 0};
    status = writeArtifact(pipe, builder_.manifest, {&data, 1}).status();
  });
  std::ifstream reader(pipe, std::ios::binary);
  std::string read(100000, '\0');
  reader.read(read.data(), int64_t(read.size()));
  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((4 << 20) - 1);
  file.put('!');
  file.close();
  while (reader.read(read.data(), int64_t(read.size()))) {
  }
  writer.join();
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_THAT(status.message(),
              HasSubstr("the bytes of global 'a' were changed "
                        "while they were read"));
}

TEST_F(ArtifactFileTest, aChunkIsComparedWhenItIsReadFirst) {
  values_.assign(70000, 1); // 280,000 bytes: five chunks, the last shorter
  builder_.manifest.clear_globals();
  builder_.global("a", "parameter",
                  builder_.tensor(builder_.grid({1}), {70000}, {{}}));
  GlobalData data{bytes(), {}, 0};
  ASSERT_TRUE(writeArtifact(path_, builder_.manifest, {&data, 1}));
  std::string changed = read();
  changed[4096 + 2 * 65536 + 5] ^= 1;
  changed.back() ^= 1;
  overwrite(changed);
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_TRUE(file->checkBytes(0, 0, 2 * 65536).isOk());
  EXPECT_TRUE(file->checkBytes(0, 3 * 65536, 3 * 65536).isOk());
  for (auto [begin, end] : {std::pair(2 * 65536 - 1, 2 * 65536 + 1),
                            std::pair(3 * 65536 - 1, 3 * 65536)}) {
    Status status = file->checkBytes(0, begin, end);
    EXPECT_EQ(status.code(), ExitCode::Invalid);
    EXPECT_THAT(status.message(),
                HasSubstr("global 'a' does not have the checksum of its bytes "
                          "from 131072 on that it should have"));
  }
  EXPECT_THAT(file->checkBytes(0, 279999, 280000).message(),
              HasSubstr("of its bytes from 262144 on"));
}

TEST_F(ArtifactFileTest, everyChunkHasAChecksum) {
  ASSERT_TRUE(write().isOk());
  std::string content = read();
  pb::Manifest manifest = ArtifactFile::open(path_)->manifest();
  manifest.mutable_globals(1)->clear_chunk_crc32c();
  std::string text = manifest.SerializeAsString(), hash = Sha256::of(text);
  auto size = static_cast<uint32_t>(text.size());
  std::memcpy(content.data() + 12, &size, 4);
  content.replace(16, hash.size(), hash);
  content.replace(144, text.size(), text);
  overwrite(content);
  EXPECT_EQ(open().code(), ExitCode::Invalid);
  EXPECT_THAT(open().message(),
              HasSubstr("damaged artifact: global 'b' has 0 checksums, "
                        "expected 1"));
}

TEST_F(ArtifactFileTest, externalWeightsStayInTheirFile) {
  std::string weights(reinterpret_cast<const char *>(values_.data()), 12);
  overwrite("head" + weights, "weights.bin");
  ASSERT_TRUE(write("weights.bin", 4).isOk());
  auto file = ArtifactFile::open(path_, {{}, /*verifyHashes=*/true});
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(std::memcmp(file->globalBytes(0).data(), weights.data(), 12), 0);

  // Elsewhere, when told; changed; too short; gone.
  fs::create_directory(folder_ + "/other");
  fs::rename(folder_ + "/weights.bin", folder_ + "/other/weights.bin");
  EXPECT_EQ(open().code(), ExitCode::File);
  EXPECT_TRUE(open({folder_ + "/other", true}).isOk());
  overwrite("head" + std::string(12, 'x'), "weights.bin");
  EXPECT_THAT(open({{}, true}).message(),
              HasSubstr("; has its file 'weights.bin' been changed since the "
                        "artifact was made?"));
  overwrite("head", "weights.bin");
  EXPECT_THAT(open().message(),
              HasSubstr("global 'a' lies at bytes 4 + 12 of a file of 4"));
}

TEST_F(ArtifactFileTest, externalFilesMustLieBeneathTheFolder) {
  for (const char *escape : {"../x", "/etc/passwd", "a/../../x"}) {
    ASSERT_TRUE(write(escape).isOk());
    Status status = open();
    EXPECT_EQ(status.code(), ExitCode::Invalid) << escape;
    EXPECT_THAT(status.message(), HasSubstr("leaves the folder"));
  }
}

TEST_F(ArtifactFileTest, offsetsThatWrapAroundAreRefused) {
  overwrite(std::string(64, 'x'), "weights.bin");
  for (int64_t offset : {int64_t(-1), INT64_MAX, INT64_MAX - 11}) {
    ASSERT_TRUE(write("weights.bin", offset).isOk());
    EXPECT_EQ(open().code(), ExitCode::Invalid) << offset;
  }
}

TEST_F(ArtifactFileTest, dataThatDoesNotFitIsNotWritten) {
  values_.pop_back();
  Status status = write();
  EXPECT_EQ(status.code(), ExitCode::Usage);
  EXPECT_THAT(status.message(), HasSubstr("global 'a' has 8 bytes"));
  EXPECT_EQ(writeArtifact(path_, builder_.manifest, {}).status().code(),
            ExitCode::Usage);
  EXPECT_FALSE(fs::exists(path_));
}
