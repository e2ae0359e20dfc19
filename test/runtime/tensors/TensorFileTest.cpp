//===- TensorFileTest.cpp - Tests of tensors in files ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/TensorFile.h"
#include "divisi/Support/OutputFile.h"
#include "runtime/tensors/Zip.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

/// What numpy.lib.format and zipfile (deflated, with 64-bit sizes) make of
/// a = float32 [[0, 1, 2], [3, 4, 5]] and b, the same as int64, column-major.
static const uint8_t numpyArchive[] = {
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
    0x21, 0x00, 0x4f, 0xe9, 0x00, 0x2a, 0x55, 0x00, 0x00, 0x00, 0x98, 0x00,
    0x00, 0x00, 0x05, 0x00, 0x14, 0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x01,
    0x00, 0x10, 0x00, 0x98, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x55,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b,
    0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c,
    0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e,
    0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a,
    0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16,
    0xa4, 0x02, 0xf9, 0x1a, 0x46, 0x3a, 0x0a, 0xc6, 0x9a, 0x3a, 0x0a, 0xb5,
    0x0a, 0x64, 0x03, 0x2e, 0x06, 0x30, 0x68, 0xb0, 0x07, 0x12, 0x0e, 0x40,
    0x04, 0xc4, 0x0d, 0x40, 0xbc, 0xc0, 0x01, 0x00, 0x50, 0x4b, 0x03, 0x04,
    0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf7, 0x3b,
    0x78, 0x14, 0x55, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x00, 0x00, 0x05, 0x00,
    0x14, 0x00, 0x62, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0xb0,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x55, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50,
    0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0,
    0x6e, 0x93, 0x69, 0xa1, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52,
    0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x0f, 0x29, 0x2a,
    0x4d, 0x05, 0x0a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xb9, 0x1a, 0x46,
    0x3a, 0x0a, 0xc6, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0xe4, 0x03, 0x2e, 0x06,
    0x28, 0x60, 0x86, 0xd2, 0x8c, 0x50, 0x9a, 0x05, 0x4a, 0x33, 0x41, 0x69,
    0x56, 0x28, 0x0d, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00,
    0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x4f, 0xe9, 0x00, 0x2a,
    0x55, 0x00, 0x00, 0x00, 0x98, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x01, 0x02, 0x14,
    0x03, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf7,
    0x3b, 0x78, 0x14, 0x55, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x00, 0x00, 0x05,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
    0x01, 0x8c, 0x00, 0x00, 0x00, 0x62, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b,
    0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x66, 0x00,
    0x00, 0x00, 0x18, 0x01, 0x00, 0x00, 0x00, 0x00,
};

template <size_t size>
static std::span<const std::byte> bytesOf(const uint8_t (&array)[size]) {
  return std::as_bytes(std::span<const uint8_t>(array));
}

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span<const char>(text));
}

static std::string temporaryPath(const std::string &name) {
  return testing::TempDir() + "divisi_tensor_" + std::to_string(getpid()) +
         "_" + name;
}

/// An .npy file of version 1 with this dictionary and that many data bytes.
static std::string npy(const std::string &dictionary, size_t dataBytes) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(dictionary.size()), '\x00'};
  return bytes + dictionary + std::string(dataBytes, '\x02');
}

/// All tensors of an archive.
static Expected<std::vector<HostTensor>>
parseNpz(std::span<const std::byte> bytes) {
  auto given = parseTensors(bytes, "x.npz", nullptr);
  if (!given) {
    return given.status();
  }
  std::vector<HostTensor> tensors;
  for (const GivenTensor &each : *given) {
    auto tensor = each.take();
    if (!tensor) {
      return tensor.status();
    }
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// The `index`-th of them.
static HostTensor taken(const Expected<std::vector<GivenTensor>> &given,
                        size_t index = 0) {
  auto tensor = (*given)[index].take();
  EXPECT_TRUE(tensor) << tensor.status().message();
  return tensor ? std::move(*tensor) : HostTensor();
}

TEST(NpzTest, readsWhatNumpyWrites) {
  auto tensors = parseNpz(bytesOf(numpyArchive));
  ASSERT_TRUE(tensors) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 2u);
  const HostTensor &a = (*tensors)[0], &b = (*tensors)[1];
  EXPECT_EQ(a.name(), "a");
  EXPECT_EQ(describe(a.type(), a.dims()), "f32[2, 3]");
  EXPECT_THAT(a.as<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(b.name(), "b");
  EXPECT_EQ(describe(b.type(), b.dims()), "i64[2, 3]");
  EXPECT_THAT(b.as<int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(NpzTest, damageIsAnErrorWhereverItIs) {
  // Each single changed byte either is found, or changes what nobody reads
  // (times, versions, names): it never crashes, and data stays what it was.
  std::vector<uint8_t> bytes(std::begin(numpyArchive), std::end(numpyArchive));
  size_t found = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[i] ^= flip;
      auto tensors = parseNpz(std::as_bytes(std::span<uint8_t>(bytes)));
      found += !tensors;
      bytes[i] ^= flip;
    }
  }
  EXPECT_GT(found, bytes.size());
}

/// Its elements are damaged, which is seen by who takes it.
TEST(NpzTest, whatNobodyTakesIsNotUnpacked) {
  std::vector<uint8_t> bytes(std::begin(numpyArchive), std::end(numpyArchive));
  size_t inSecond = 0x8c + 30 + 5 + 20 + 0x50;
  bytes[inSecond] ^= 0xff;
  auto given =
      parseTensors(std::as_bytes(std::span<uint8_t>(bytes)), "x.npz", nullptr);
  ASSERT_TRUE(given) << given.status().message();
  EXPECT_TRUE((*given)[0].take());
  EXPECT_EQ(describe((*given)[1].head.type, (*given)[1].head.dims),
            "i64[2, 3]");
  EXPECT_THAT((*given)[1].take().status().message(),
              HasSubstr("'x.npz': entry 'b.npy': damaged archive: "));
}

TEST(NpzTest, whatIsStoredIsReadWhereItLies) {
  std::string path = temporaryPath("stored.npz");
  HostTensor tensor = HostTensor::ofInts({3}, {1, 2, 3});
  tensor.setName("x");
  const HostTensor *tensors[] = {&tensor};
  ASSERT_TRUE(writeNpz(path, tensors).isOk());
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto entries = readZip(bytesOf(text));
  ASSERT_TRUE(entries) << entries.status().message();
  const ZipEntry &entry = entries->front();
  AlignedBytes room;
  auto content = unpack(entry, room);
  ASSERT_TRUE(content) << content.status().message();
  EXPECT_EQ(content->data(), entry.packed.data());
  EXPECT_EQ(room.size(), 0);
}

TEST(NpzTest, truncationIsAnErrorAtEveryLength) {
  for (size_t size = 0; size < sizeof(numpyArchive); ++size) {
    auto tensors = parseNpz(bytesOf(numpyArchive).first(size));
    EXPECT_FALSE(tensors) << size;
    EXPECT_EQ(tensors.status().code(), ExitCode::Invalid);
  }
}

TEST(NpzTest, writesWhatItReads) {
  std::string path = temporaryPath("round.npz");
  auto tensors = parseNpz(bytesOf(numpyArchive));
  ASSERT_TRUE(tensors);
  auto empty = HostTensor::zeros(DType::Bool, {0, 7}, "none");
  ASSERT_TRUE(empty);
  const HostTensor *all[] = {&(*tensors)[0], &(*tensors)[1], &*empty};
  ASSERT_TRUE(writeNpz(path, all).isOk());
  auto again = readTensors(path, "input");
  ASSERT_TRUE(again) << again.status().message();
  ASSERT_EQ(again->size(), 3u);
  EXPECT_THAT(taken(again, 1).as<int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(describe((*again)[2].head.type, (*again)[2].head.dims),
            "bool[0, 7]");
  std::filesystem::remove(path);
}

TEST(NpzTest, namesMustDiffer) {
  auto tensor = HostTensor::zeros(DType::F32, {}, "x");
  const HostTensor *twice[] = {&*tensor, &*tensor};
  Status status = writeNpz(temporaryPath("twice.npz"), twice);
  EXPECT_EQ(status.code(), ExitCode::Usage);
  EXPECT_THAT(status.message(), HasSubstr("two tensors are named 'x'"));
}

TEST(NpyTest, roundTripsEveryType) {
  std::string path = temporaryPath("types.npy");
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I8,
                     DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                     DType::U32, DType::U64, DType::Bool}) {
    auto tensor = HostTensor::zeros(type, {2, 1, 3});
    ASSERT_TRUE(tensor);
    tensor->data()[0] = std::byte{1};
    EXPECT_EQ(formatNpyHeader(type, tensor->dims()).size() % 64, 0u);
    ASSERT_TRUE(writeNpy(path, *tensor).isOk());
    auto again = readTensors(path, "input");
    ASSERT_TRUE(again) << again.status().message();
    HostTensor read = taken(again);
    EXPECT_EQ(read.type(), type);
    EXPECT_EQ(read.dims(), tensor->dims());
    EXPECT_THAT(read.bytes(), testing::ElementsAreArray(tensor->bytes()));
  }
  std::filesystem::remove(path);
}

TEST(NpyTest, bf16IsWhatMlDtypesWrites) {
  for (const char *descr : {"<V2", "|V2"}) {
    auto tensor =
        parseNpy(bytesOf(npy("{'descr': '" + std::string(descr) +
                                 "', 'fortran_order': False, 'shape': (2,), }",
                             4)));
    ASSERT_TRUE(tensor) << tensor.status().message();
    EXPECT_EQ(tensor->type(), DType::BF16);
  }
}

/// NumPy's files name none of these types; it cannot read ml_dtypes' name of
/// f8e5m2 itself.
TEST(NpyTest, aByteOfNoTypeIsWhatMlDtypesWrites) {
  auto parse = [](const std::string &descr) {
    return parseNpy(bytesOf(npy("{'descr': '" + descr +
                                    "', 'fortran_order': False, 'shape': (2,"
                                    "), }",
                                2)));
  };
  for (const char *descr : {"<V1", "|V1"}) {
    auto tensor = parse(descr);
    ASSERT_TRUE(tensor) << tensor.status().message();
    EXPECT_TRUE(tensor->isOpaque());
    auto typed = tensor->bytesAs(DType::I4);
    ASSERT_TRUE(typed);
    EXPECT_THAT(typed->toInts(), ElementsAre(2, 2));
    EXPECT_FALSE(typed->isOpaque());
  }
  auto e5m2 = parse("<f1");
  ASSERT_TRUE(e5m2) << e5m2.status().message();
  EXPECT_EQ(e5m2->type(), DType::F8E5M2);
  EXPECT_FALSE(e5m2->isOpaque());
}

TEST(NpyTest, whatIsStoredOnlyIsWrittenAsBytes) {
  std::string path = temporaryPath("stored.npy");
  for (DType type :
       {DType::I4, DType::U4, DType::U2, DType::F4E2M1, DType::F8E4M3FN,
        DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ, DType::F8E8M0}) {
    std::byte bytes[] = {std::byte(0), std::byte(1), std::byte(3)};
    auto tensor = HostTensor::copyOf(type, {3}, bytes);
    ASSERT_TRUE(tensor);
    ASSERT_TRUE(writeNpy(path, *tensor).isOk());
    auto again = readTensors(path, "input");
    ASSERT_TRUE(again) << again.status().message();
    EXPECT_TRUE(again->front().head.isOpaque);
    HostTensor read = taken(again);
    EXPECT_TRUE(read.isOpaque());
    EXPECT_THAT(read.bytes(), testing::ElementsAreArray(bytes));
  }
  std::filesystem::remove(path);
}

TEST(NpyTest, noFileHoldsTheField) {
  auto tensor = HostTensor::zeros(DType::Field, {2}, "x");
  ASSERT_TRUE(tensor);
  const HostTensor *all[] = {&*tensor};
  for (const Status &status : {writeNpy(temporaryPath("field.npy"), *tensor),
                               writeNpz(temporaryPath("field.npz"), all)}) {
    EXPECT_EQ(status.code(), ExitCode::Unsupported);
    EXPECT_THAT(status.message(),
                HasSubstr("'x' is of the prime field, which no file holds"));
  }
}

TEST(NpyTest, booleansBecomeZeroOrOne) {
  auto tensor = parseNpy(bytesOf(
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 2)));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_THAT(tensor->as<uint8_t>(), ElementsAre(1, 1));
}

TEST(NpyTest, saysWhatIsWrong) {
  struct Case {
    const char *dictionary;
    size_t bytes;
    ExitCode code;
    const char *message;
  };
  for (const Case &c :
       {Case{"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4,
             ExitCode::Unsupported, "element type '>f4'"},
        Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4,
             ExitCode::Invalid, "got 4 bytes for f32[2]"},
        Case{"{'descr': '<f4', 'fortran_order': False, 'shape': "
             "(4294967296, 4294967296), }",
             0, ExitCode::Invalid, "got 0 bytes for"},
        Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4,
             ExitCode::Invalid, "not a dictionary"},
        Case{"{'descr': '<f4', 'shape': (1,), }", 4, ExitCode::Invalid,
             "not a dictionary"},
        Case{"{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4,
             ExitCode::Invalid, "not a dictionary"}}) {
    auto tensor = parseNpy(bytesOf(npy(c.dictionary, c.bytes)));
    ASSERT_FALSE(tensor) << c.dictionary;
    EXPECT_EQ(tensor.status().code(), c.code);
    EXPECT_THAT(tensor.status().message(), HasSubstr(c.message));
  }
}

/// An ONNX tensor without dims: one byte.
static std::string scalarMessage(char value) {
  return std::string("\x10\x02\x2a\x01", 4) + value;
}

TEST(OnnxTensorTest, readsAFolderInOrder) {
  std::string folder = temporaryPath("folder");
  std::filesystem::create_directory(folder);
  for (int i : {10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    std::string path = folder + "/input_" + std::to_string(i) + ".pb";
    ASSERT_TRUE(writeFile(path, scalarMessage(static_cast<char>(i))).isOk());
  }
  ASSERT_TRUE(writeFile(folder + "/input_x.pb", "").isOk());
  auto tensors = readTensors(folder, "input");
  ASSERT_TRUE(tensors) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 11u);
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(taken(tensors, i).as<uint8_t>()[0], i);
    EXPECT_TRUE((*tensors)[i].label.isNumbered);
  }
  EXPECT_EQ(readTensors(folder, "output").status().code(), ExitCode::File);
  std::filesystem::remove(folder + "/input_4.pb");
  EXPECT_THAT(readTensors(folder, "input").status().message(),
              HasSubstr("has 'input_5.pb', but no 'input_4.pb'"));
  // An archive may hold any number of tensors.
  ASSERT_TRUE(writeFile(folder + "/input_4.pb",
                        {reinterpret_cast<const char *>(numpyArchive),
                         sizeof(numpyArchive)})
                  .isOk());
  EXPECT_THAT(readTensors(folder, "input").status().message(),
              HasSubstr("input_4.pb' holds 2 tensors, expected one"));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(readTensors(folder, "input").status().code(), ExitCode::File);
}

TEST(TensorFileTest, contentCountsAndNotTheName) {
  auto archive = parseTensors(bytesOf(numpyArchive), "x.npy", nullptr);
  ASSERT_TRUE(archive) << archive.status().message();
  EXPECT_EQ(archive->size(), 2u);
  EXPECT_FALSE(archive->front().label.isNumbered);
  std::string scalar = scalarMessage(5);
  auto message = parseTensors(bytesOf(scalar), "x", nullptr);
  ASSERT_TRUE(message) << message.status().message();
  EXPECT_EQ(message->front().label.name, "");
  for (const char *name : {"x.npz", "x.npy", "x.pb", "x"}) {
    std::string text = "no tensor";
    EXPECT_EQ(parseTensors(bytesOf(text), name, nullptr).status().code(),
              ExitCode::Invalid);
    EXPECT_EQ(parseTensors({}, name, nullptr).status().code(),
              ExitCode::Invalid);
  }
}
