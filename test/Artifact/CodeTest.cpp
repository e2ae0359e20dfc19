//===- CodeTest.cpp - Programs with code and formats ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program in exec says of code and formats reaches the kernels: a module
// is written by hand, compiled to an artifact, and run by a backend that orders
// elements backwards and adds what its code says.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "divisi/runtime/core/Session.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace divisi;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// `nn.neg` adds one number for each byte of its code for "adder"; `nn.abs`
/// turns elements around, to or from the format "backwards", which has one
/// element more.
class CodedBackend final : public rt::Backend {
public:
  std::string_view name() const override { return "coded"; }
  std::span<const rt::Kernel> kernels() const override { return kernels_; }

private:
  class Adder final : public rt::PreparedKernel {
  public:
    explicit Adder(const rt::CallSite &site)
        : count_(site.results[0].count()), bytes_(site.code->bytes) {}
    Status launch(rt::LaunchContext &context) override {
      const auto *x = static_cast<const float *>(context.operands[0]);
      auto *y = static_cast<float *>(context.results[0]);
      for (int64_t i = 0; i < count_; ++i) {
        y[i] = x[i];
        for (std::byte byte : bytes_) {
          y[i] += static_cast<float>(byte);
        }
      }
      return {};
    }

  private:
    int64_t count_;
    std::span<const std::byte> bytes_;
  };

  class Turner final : public rt::PreparedKernel {
  public:
    explicit Turner(const rt::CallSite &site)
        : count_(site.results[0].count()),
          packs_(!site.results[0].format.empty()) {}
    Status launch(rt::LaunchContext &context) override {
      const auto *x = static_cast<const float *>(context.operands[0]);
      auto *y = static_cast<float *>(context.results[0]);
      for (int64_t i = 0; i < count_; ++i) {
        (packs_ ? y[count_ - i] : y[i]) = packs_ ? x[i] : x[count_ - i];
      }
      return {};
    }

  private:
    int64_t count_;
    bool packs_;
  };

  static rt::KernelQuery queryTurner(const rt::CallSite &site) {
    rt::KernelQuery query;
    if (!site.results[0].format.empty()) {
      query.resultBytes = {site.results[0].bytes() + 4};
    }
    return query;
  }

  std::vector<rt::Kernel> kernels_ = {
      {.op = "nn.abs",
       .query = queryTurner,
       .prepare = [](const rt::CallSite &site,
                     std::string &) -> std::unique_ptr<rt::PreparedKernel> {
         return std::make_unique<Turner>(site);
       },
       .takesFormats = true},
      {.op = "nn.neg",
       .query = [](const rt::CallSite &) { return rt::KernelQuery(); },
       .prepare = [](const rt::CallSite &site,
                     std::string &) -> std::unique_ptr<rt::PreparedKernel> {
         return std::make_unique<Adder>(site);
       },
       .accepts =
           [](const rt::CallSite &site) {
             return site.code && site.code->target == "adder";
           },
       .takesCode = true}};
};

/// A folder that is removed with the object.
class Folder {
public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("divisi_code_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string &name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

} // namespace

/// Two ranks: x + 3 + 4, by way of a buffer that holds it backwards.
static const char program[] = R"(
module attributes {divisi.stage = "lower"} {
spmd.grid @g (x = 2)
exec.code @seven for "adder" "\03\04"
exec.entry @forward
  inputs ["x"] [!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>]
  outputs ["y"] [!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>]
exec.program @forward__0 entry @forward ranks [0, 1] arena 192 {
  %x = exec.input 0 : !exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>
  %0 = exec.alloc at 0 : !exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g format "backwards" of 16>
  exec.call "nn.abs"(%x) into (%0) {}
    : (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>)
    into (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g format "backwards" of 16>)
  %1 = exec.alloc at 64 : !exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>
  exec.call "nn.abs"(%0) into (%1) {}
    : (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g format "backwards" of 16>)
    into (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>)
  %2 = exec.alloc at 128 : !exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>
  exec.call "nn.neg"(%1) into (%2) {} code @seven
    : (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>)
    into (!exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>)
  exec.output 0 %2 : !exec.buffer<tensor<3xf32, #spmd.local<(x=2), [x], 6>>, @g>
}
}
)";

/// Writes the program, with `from` replaced by `to`, as an artifact.
static Status compile(const Folder &folder, const std::string &from = "",
                      const std::string &to = "") {
  std::string text = program;
  for (size_t at = 0;
       !from.empty() && (at = text.find(from, at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to);
  }
  std::ofstream(folder / "m.mlir") << text;
  CompileOptions options;
  options.report = false;
  Compilation compilation(std::move(options));
  Status status = compilation.load(folder / "m.mlir");
  return status.isOk() ? compilation.emit(folder / "m.divisi").status()
                       : status;
}

static Expected<std::unique_ptr<rt::Session>> open(const Folder &folder,
                                                   const rt::Backend &backend) {
  rt::SessionOptions options;
  options.backends = {&backend, &rt::referenceBackend()};
  return rt::Session::open(folder / "m.divisi", options);
}

TEST(CodeTest, reachesItsKernelAsFormatsDo) {
  Folder folder;
  CodedBackend backend;
  Status compiled = compile(folder);
  ASSERT_TRUE(compiled.isOk()) << compiled.message();
  auto session = open(folder, backend);
  ASSERT_TRUE(session) << session.status().message();
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  auto x = rt::HostTensor::copyOf(rt::DType::F32, {6},
                                  std::as_bytes(std::span(values)));
  std::vector<rt::HostTensor> inputs;
  inputs.push_back(std::move(*x));
  auto y = (*session)->run("forward", inputs);
  ASSERT_TRUE(y) << y.status().message();
  auto got = y->front().as<float>();
  EXPECT_THAT(std::vector<float>(got.begin(), got.end()),
              ElementsAre(8, 9, 10, 11, 12, 13));
}

// The section is compared with its hash whenever the file is opened.
TEST(CodeTest, isRefusedWhenItHasChanged) {
  Folder folder;
  CodedBackend backend;
  ASSERT_TRUE(compile(folder).isOk());
  std::fstream file(folder / "m.divisi",
                    std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  size_t at = bytes.rfind("\3\4");
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\5');
  file.close();
  auto session = open(folder, backend);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.status().code(), ExitCode::Invalid);
  EXPECT_THAT(session.status().message(), HasSubstr("code"));
}

TEST(CodeTest, wantsAKernelThatKnowsIt) {
  Folder folder;
  CodedBackend backend;
  ASSERT_TRUE(compile(folder, "\"adder\"", "\"other\"").isOk());
  auto session = open(folder, backend);
  EXPECT_EQ(session.status().code(), ExitCode::Unsupported);
  EXPECT_THAT(session.status().message(),
              HasSubstr("no backend can do 'nn.neg'"));
  ASSERT_TRUE(compile(folder, "of 16>", "of 12>").isOk());
  EXPECT_THAT(open(folder, backend).status().message(),
              HasSubstr("needs more room for a result in its format"));
}

TEST(CodeTest, formatsAreForCallsAlone) {
  Folder folder;
  EXPECT_THAT(compile(folder,
                      "exec.output 0 %2 : !exec.buffer<tensor<3xf32, "
                      "#spmd.local<(x=2), [x], 6>>, @g>",
                      "exec.output 0 %0 : !exec.buffer<tensor<3xf32, "
                      "#spmd.local<(x=2), [x], 6>>, @g format \"backwards\" of "
                      "16>")
                  .message(),
              HasSubstr("must be buffer in row-major order"));
  EXPECT_THAT(compile(folder, "{} code @seven", "{} code @eight").message(),
              HasSubstr("(C5) there is no exec.code @eight"));
  EXPECT_THAT(compile(folder, "format \"backwards\" of 16", "format \"\" of 16")
                  .message(),
              HasSubstr("a format has a name and at least 0 bytes, got '' of "
                        "16"));
}
