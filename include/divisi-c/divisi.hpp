//===- divisi.hpp - The C APIs for C++20 ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers alone, over runtime.h and compiler.h, whose rules hold: handles that
// free what they hold, and results that have a value or an error.
//
//   divisi::CompilationOptions options;
//   options.model = "gpt2.onnx";
//   options.arguments = {"--devices=4"};
//   auto compilation = divisi::Compilation::create(options).value();
//   compilation.compile("gpt2.divisi").value();
//
//   auto artifact = divisi::Artifact::open("gpt2.divisi").value();
//   auto context = divisi::Context::create(artifact).value();
//   divisi::Tensor x(ids.data(), {1, 64});
//   std::vector<divisi::Array> outputs = context.run({x}).value();
//   std::span<const float> y = outputs[0].as<float>();
//
// `value` throws divisi::Exception where there is an error. Who does not want
// exceptions asks first: `if (!artifact) { use(artifact.error()); }`. What
// only loads and runs artifacts links libdivisi_runtime alone,
// and may include runtime.hpp instead. All names are in an inline namespace of
// the major version of the C APIs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_DIVISI_HPP
#define DIVISI_INCLUDE_DIVISI_C_DIVISI_HPP

#include "divisi-c/compiler.hpp"
#include "divisi-c/runtime.hpp"

#endif // DIVISI_INCLUDE_DIVISI_C_DIVISI_HPP
