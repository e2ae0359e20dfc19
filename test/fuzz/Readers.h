//===- Readers.h - What reads files, given any bytes ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function gives some bytes to the readers of one kind of file, and aborts
// if an answer is wrong: whatever the bytes are, they are read, or there is an
// error with a message and one of the exit codes that are documented. The
// fuzzers call them (Fuzzer.cpp), and a test with the files that are kept in
// corpus/ (ReplayTest.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_FUZZ_READERS_H
#define DIVISI_TEST_FUZZ_READERS_H

#include "divisi/Support/Status.h"

#include <string_view>

namespace divisi::fuzz {

/// Ends the process, saying `what`, unless it `holds`.
void require(bool holds, const char *what);

/// Requires of a failure what every failure must have.
void requireFailure(const Status &status);

/// Files of tensors: archives and arrays of NumPy, tensors of ONNX.
void readTensors(std::string_view bytes);
/// An artifact, or the manifest of one.
void readManifests(std::string_view bytes);
/// Planning problems: JSON, or gzip of it.
void readProblems(std::string_view bytes);
/// Rules.
void readRules(std::string_view bytes);
/// Clusters: YAML.
void readClusters(std::string_view bytes);
/// ONNX models.
void readModels(std::string_view bytes);
/// Modules of any stage.
void readModules(std::string_view bytes);
/// What comes along a connection between hosts.
void readHosts(std::string_view bytes);

} // namespace divisi::fuzz

#endif // DIVISI_TEST_FUZZ_READERS_H
