//===- QueuedShape.cpp - Steps in the words of NCCL's calls ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/QueuedShape.h"
#include "runtime/comm/StepShape.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

bool divisi::rt::combineQueued(DType type, ReduceKind kind) {
  bool isSum = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  bool isBound = kind == ReduceKind::Max || kind == ReduceKind::Min;
  switch (type) {
  case DType::F64:
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return isSum;
  case DType::I8:
  case DType::U8:
  case DType::I32:
  case DType::U32:
  case DType::I64:
  case DType::U64:
    return isSum || isBound;
  case DType::Bool:
    return !isSum;
  default:
    return false;
  }
}

/// Whether all parties have as many elements in what `boxOf` says, and some.
template <typename BoxOf>
static bool areEqual(const StepDesc &step, BoxOf boxOf) {
  const std::optional<Box> &first = boxOf(step.parties.front());
  return first && !first->empty() &&
         std::ranges::all_of(step.parties, [&](const StepParty &party) {
           const std::optional<Box> &own = boxOf(party);
           return own && own->count() == first->count();
         });
}

/// Whether all want the same box, to which each has another part.
static bool isAllGather(const StepDesc &step) {
  const std::optional<Box> &whole = step.parties.front().result;
  auto source = [](const StepParty &party) -> const std::optional<Box> & {
    return party.source;
  };
  if (!whole || !areEqual(step, source) ||
      step.parties.front().source->count() *
              static_cast<int64_t>(step.parties.size()) !=
          whole->count()) {
    return false;
  }
  for (size_t i = 0; i < step.parties.size(); ++i) {
    const StepParty &party = step.parties[i];
    if (party.result != whole || !contains(*whole, *party.source)) {
      return false;
    }
    for (size_t j = 0; j < i; ++j) {
      if (!intersect(*party.source, *step.parties[j].source).empty()) {
        return false;
      }
    }
  }
  return true;
}

static QueuedForm formOf(const StepDesc &step) {
  if (!step.reduce) {
    return isAllGather(step) ? QueuedForm::AllGather : QueuedForm::Exchange;
  }
  if (isAllReduce(step)) {
    return QueuedForm::AllReduce;
  }
  auto result = [](const StepParty &party) -> const std::optional<Box> & {
    return party.result;
  };
  return areEqual(step, result) ? QueuedForm::ReduceScatter
                                : QueuedForm::ReduceEach;
}

/// The parts, each as a piece of `box`; those of a reduction are copied from
/// there, those of a gathering to there.
static std::vector<QueuedPart> partsOf(const StepDesc &step, const Box &box) {
  std::vector<QueuedPart> parts;
  int64_t width = byteWidth(step.type);
  for (size_t i = 0; i < step.parties.size(); ++i) {
    const StepParty &party = step.parties[i];
    const Box &piece = step.reduce ? *party.result : *party.source;
    if (!piece.empty()) {
      BoxCopy copy = step.reduce ? BoxCopy(width, piece, box, piece)
                                 : BoxCopy(width, piece, piece, box);
      parts.push_back({i, piece.count(), std::move(copy), false, 0});
    }
  }
  return parts;
}

/// Whether the parts lie one behind the other in the box.
static bool areInOrder(const StepDesc &step,
                       const std::vector<QueuedPart> &parts) {
  int64_t end = 0;
  return std::ranges::all_of(parts, [&](const QueuedPart &part) {
    int64_t begin =
        step.reduce ? part.copy.sourceOffset() : part.copy.resultOffset();
    bool isNext = part.copy.isContiguous() && begin == end;
    end += part.copy.bytes();
    return isNext;
  });
}

/// Each at its place behind the one before, as calls want equal ones.
static int64_t packAll(std::vector<QueuedPart> &parts) {
  int64_t end = 0;
  for (QueuedPart &part : parts) {
    part.isPacked = true;
    part.place = end;
    end += part.copy.bytes();
  }
  return end;
}

/// Each that is no piece; all where the result is written over the source.
static int64_t packPieces(std::vector<QueuedPart> &parts, bool packsAll) {
  int64_t end = 0;
  for (QueuedPart &part : parts) {
    part.isPacked = packsAll || !part.copy.isContiguous();
    if (part.isPacked) {
      part.place = end;
      end += alignedMessage(part.copy.bytes());
    }
  }
  return end;
}

/// Those of an exchange; no other form asks for them.
static std::optional<Senders> sendersFor(QueuedForm form,
                                         const StepDesc &step) {
  return form == QueuedForm::Exchange ? std::optional(sendersOf(step))
                                      : std::nullopt;
}

/// Of a step that is done as `form`; `senders` are those of an exchange.
static QueuedPlan planAs(QueuedForm form, const StepDesc &step, size_t self,
                         std::optional<Senders> &senders) {
  QueuedPlan plan;
  plan.form = form;
  const StepParty &own = step.parties[self];
  switch (plan.form) {
  case QueuedForm::AllReduce:
    break;
  case QueuedForm::ReduceScatter:
  case QueuedForm::AllGather:
    plan.parts = partsOf(step, step.reduce ? *own.source : *own.result);
    if (!areInOrder(step, plan.parts)) {
      plan.bytes = packAll(plan.parts);
    }
    break;
  case QueuedForm::ReduceEach:
    plan.parts = partsOf(step, *own.source);
    plan.bytes = packPieces(plan.parts, own.source == own.result);
    break;
  case QueuedForm::Exchange:
    plan.messages = planMoveMessages(step, self, *senders);
    plan.bytes = plan.messages.bytes;
  }
  return plan;
}

QueuedPlan divisi::rt::planQueued(const StepDesc &step, size_t self) {
  QueuedForm form = formOf(step);
  std::optional<Senders> senders = sendersFor(form, step);
  return planAs(form, step, self, senders);
}

int64_t divisi::rt::queuedBytes(const StepDesc &step, size_t self) {
  return takesAnything(step) ? planQueued(step, self).bytes : 0;
}

std::vector<int64_t> divisi::rt::queuedBytes(const StepDesc &step) {
  std::vector<int64_t> bytes(step.parties.size());
  if (!takesAnything(step)) {
    return bytes;
  }
  QueuedForm form = formOf(step);
  std::optional<Senders> senders = sendersFor(form, step);
  // What is exchanged, or combined for each, depends on the party's own boxes;
  // all others pack the same parts of equal boxes.
  bool isAlike = form != QueuedForm::Exchange && form != QueuedForm::ReduceEach;
  for (size_t self = 0; self < bytes.size(); ++self) {
    const StepParty &own = step.parties[self];
    const StepParty &before = step.parties[self == 0 ? 0 : self - 1];
    bool isKnown = self != 0 && isAlike &&
                   (step.reduce ? own.source == before.source
                                : own.result == before.result);
    bytes[self] =
        isKnown ? bytes[self - 1] : planAs(form, step, self, senders).bytes;
  }
  return bytes;
}
