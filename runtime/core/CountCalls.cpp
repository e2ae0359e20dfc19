//===- CountCalls.cpp - The memory that calls want ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As BuildCalls.cpp, without kernels. A program that repeats itself repeats
// operators and tensors: backends are asked once about all calls that they
// cannot tell apart.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankProgramBuilder.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// All that answers depend on: operator, code, memory space; and of each
/// operand and result the tensor, its format, and whether it is a constant.
RankProgramBuilder::CallKey
RankProgramBuilder::keyOf(const pb::Call &call) const {
  CallKey key = {
      call.op(), call.has_code() ? int64_t(call.code()) : -1, call.space(), {}};
  for (const auto *buffers : {&call.operands(), &call.results()}) {
    for (uint32_t buffer : *buffers) {
      std::get<3>(key).emplace_back(&placement(buffer),
                                    program_.root(buffer).format(),
                                    isConstant(buffer));
    }
  }
  return key;
}

/// The tensors whose boxes kernels are told: of operands and results, and of
/// what parts of a fused region make.
std::vector<const Placement *>
RankProgramBuilder::tensorsOf(const pb::Call &call) const {
  std::vector<const Placement *> tensors;
  for (const auto *buffers : {&call.operands(), &call.results()}) {
    for (uint32_t buffer : *buffers) {
      tensors.push_back(&placement(buffer));
    }
  }
  for (const auto &part : context_.resolved.operatorOf(call).parts) {
    tensors.insert(tensors.end(), part.begin(), part.end());
  }
  return tensors;
}

/// What each backend says of the rank's call.
std::vector<RankProgramBuilder::Answer>
RankProgramBuilder::askAll(const pb::Call &call) {
  OwnSite own;
  describe(call, own);
  std::vector<Answer> answers;
  for (const Backend *backend : context_.backends) {
    answers.push_back(isFor(*backend, call) ? ask(*backend, call, *own.site)
                                            : Answer());
  }
  return answers;
}

const std::vector<RankProgramBuilder::Answer> &
RankProgramBuilder::answersOf(const pb::Call &call) {
  auto [known, isNew] = answers_.try_emplace(keyOf(call));
  if (isNew) {
    known->second = askAll(call);
  }
  return known->second;
}

Status RankProgramBuilder::countCall(const pb::Call &call) {
  if (isEmpty(call)) {
    return {};
  }
  const std::vector<Answer> &answers = answersOf(call);
  std::string reasons;
  bool isAnyAsked = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Backend &backend = *context_.backends[i];
    if (!isFor(backend, call)) {
      continue;
    }
    isAnyAsked = true;
    bool isNothing = false;
    std::string_view why = refusal(call, answers[i], isNothing);
    if (!why.empty()) {
      reasons += "; backend '" + std::string(backend.name()) + "'";
      reasons += why;
      continue;
    }
    const KernelQuery &query = answers[i].query;
    if (isNothing) {
      noteReads(call, {});
    } else {
      countWorkspace(call, query.workspaceBytes);
      notePacked(call, query.packed);
      notePacking(query.packed);
      noteReads(call, query.unread);
    }
    return {};
  }
  if (!isAnyAsked) { // who does it is not known here
    noteReads(call, {});
    return {};
  }
  return noBackend(call, ExitCode::Unsupported, reasons);
}
