//===- wrapper.cpp - All of the wrapper for C++20 -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a model of consumer_test.py; prints what was wrong: wrapper MODEL FOLDER.
//
//===----------------------------------------------------------------------===//

#include "divisi-c/divisi.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

static int wrong = 0;

#define EXPECT(condition)                                                      \
  if (!(condition)) {                                                          \
    std::printf("line %d: %s\n", __LINE__, #condition);                        \
    ++wrong;                                                                   \
  }

static std::vector<char> contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static divisi_code codeThrownBy(auto call) {
  try {
    call();
  } catch (const divisi::Exception &exception) {
    EXPECT(std::string_view(exception.what())
               .ends_with(exception.error().message));
    return exception.error().code;
  }
  return DIVISI_OK;
}

static void compile(const std::string &model, const std::string &artifact) {
  std::vector<char> bytes = contentOf(model);
  int phases = 0;
  std::vector<std::string> said;
  divisi::CompilationOptions options;
  options.modelBytes = std::as_bytes(std::span(bytes));
  options.arguments = {"--devices=2"};
  options.progress = [&](const divisi_progress_info &) { ++phases; };
  options.log = [&](divisi_severity, std::string_view text) {
    said.emplace_back(text);
  };
  auto first = divisi::Compilation::create(options).value();
  // Call-backs and handle go with it.
  divisi::Compilation compilation = std::move(first);
  compilation.plan().value();
  EXPECT(phases > 0);
  EXPECT(compilation.explain("json").value().starts_with("{"));
  EXPECT(compilation.dump("plan").value().find("nn.") != std::string::npos);
  EXPECT(codeThrownBy([&] { compilation.dump("none").value(); }) ==
         DIVISI_USAGE);
  EXPECT(compilation.layouts().value().find("nn.matmul") != std::string::npos);
  EXPECT(compilation.layouts("nn.add").value().find("nn.matmul") ==
         std::string::npos);
  EXPECT(compilation.setSplit("nn.matmul", "n@x0").value() > 0);
  EXPECT(codeThrownBy([&] { compilation.setSplit("none", "").value(); }) ==
         DIVISI_USAGE);
  compilation.compile(artifact).value();
  compilation.cancel().value();
  options.arguments = {"--no-such-option=1"};
  auto refused = divisi::Compilation::create(options);
  EXPECT(!refused && refused.error().code == DIVISI_USAGE);
}

static void run(const std::string &path) {
  auto artifact = divisi::Artifact::open(path).value();
  EXPECT(artifact.numRanks() == 2 && artifact.hash().size() == 64);
  const divisi::Entry *entry = artifact.find("");
  EXPECT(entry && entry->inputs.size() == 1 && entry->inputs[0].name == "x");
  EXPECT(entry->outputs[0].shape == (std::vector<int64_t>{2, 4}));
  EXPECT(!artifact.find("none"));
  divisi::ContextOptions options;
  options.backends = "reference";
  options.trace = true;
  auto made = divisi::Context::create(artifact, options);
  divisi::Context context = std::move(*made);

  float x[6] = {1, 0, 0, 0, 0, 0};
  auto outputs = context.run({divisi::Tensor(x, {2, 3})}, entry->name).value();
  std::span<const float> y = outputs[0].as<float>();
  EXPECT(y.size() == 8 && outputs[0].as<double>().empty());
  EXPECT(std::abs(y[3] - 7.5f) < 1e-6f && std::abs(y[7] - 4.5f) < 1e-6f);

  const std::vector<divisi::Tensor> inputs = {divisi::Tensor(x, {2, 3})};
  divisi::Array into({2, 4}, divisi::dtypeOf<float>());
  const std::vector<divisi::Tensor> out = {into.view()};
  context.runInto(inputs, out).value();
  EXPECT(into.as<float>()[3] == y[3]);

  // Errors of all kinds of arguments.
  const int32_t integers[6] = {};
  EXPECT(codeThrownBy([&] {
           context.run({divisi::Tensor(integers, {2, 3})}).value();
         }) == DIVISI_INVALID);
  EXPECT(codeThrownBy([&] {
           context.run({divisi::Tensor(x, {3, 2})}).value();
         }) == DIVISI_INVALID);
  EXPECT(codeThrownBy([&] { context.run({}).value(); }) != DIVISI_OK);
  EXPECT(codeThrownBy([&] { context.run(inputs, "none").value(); }) !=
         DIVISI_OK);
  EXPECT(codeThrownBy([&] { context.readGlobal("none", out[0]).value(); }) !=
         DIVISI_OK);

  divisi::Array weights({3, 4}, divisi::dtypeOf<float>());
  context.readGlobal("w", weights.view()).value();
  EXPECT(weights.as<float>()[11] == 11);
  EXPECT(context.memory(1).value().weights > 0);
  EXPECT(!context.memory(7));
  EXPECT(context.describe().value().starts_with("{"));
  context.writeTrace(path + ".json").value();
  EXPECT(contentOf(path + ".json").size() > 2);
  context.resetState().value();
  context.cancel().value();

  std::vector<char> bytes = contentOf(path);
  auto copy = divisi::Artifact::open(std::as_bytes(std::span(bytes))).value();
  EXPECT(copy.hash() == artifact.hash());
  bytes.resize(bytes.size() / 2);
  EXPECT(codeThrownBy([&] {
           divisi::Artifact::open(std::as_bytes(std::span(bytes))).value();
         }) == DIVISI_INVALID);
  EXPECT(codeThrownBy([] { divisi::Artifact::open("none").value(); }) ==
         DIVISI_FILE);
}

int main(int, char **argv) {
  std::string artifact = std::string(argv[2]) + "/m.divisi";
  compile(argv[1], artifact);
  run(artifact);
  return wrong ? 1 : 0;
}
