//===- AttentionNode.cpp - Attention of any domain ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionNode.h"

#include <algorithm>

using namespace divisi;
using rt::DType;

Tensor divisi::splitHeads(NodeImporter &node, const Tensor &x, int64_t heads,
                          const std::string &what,
                          const std::string &attribute) {
  if (x->rank() != 3 || heads < 1 || x->dims[2] % heads != 0) {
    node.invalid(what + " of shape " + formatInts(x->dims) + " and " +
                 attribute + " " + std::to_string(heads) +
                 " do not fit together");
    return x;
  }
  Emitter &emit = node.emitter();
  Tensor apart =
      emit.reshape(x, {x->dims[0], x->dims[1], heads, x->dims[2] / heads});
  return emit.transpose(apart, {0, 2, 1, 3});
}

Tensor divisi::joinHeads(Emitter &emit, const Tensor &x) {
  const rt::Dims &dims = x->dims;
  return emit.reshape(emit.transpose(x, {0, 2, 1, 3}),
                      {dims[0], dims[2], dims[1] * dims[3]});
}

Tensor divisi::behindPast(NodeImporter &node, const Tensor &past,
                          const Tensor &now) {
  rt::Dims expected = now->dims;
  if (past->rank() == 4 && now->rank() == 4) {
    expected[2] = past->dims[2];
  }
  if (past->dims != expected || past->type != now->type) {
    node.invalid("a past of shape " + formatInts(past->dims) +
                 " does not fit one of " + formatInts(now->dims));
    return now;
  }
  return node.emitter().concat({past, now}, 2);
}

bool divisi::checkHeads(NodeImporter &node, const AttentionNode &it) {
  bool fits = it.q->rank() == 4 && it.k->rank() == 4 && it.v->rank() == 4 &&
              it.q->dims[0] == it.k->dims[0] &&
              it.q->dims[3] == it.k->dims[3] && it.k->dims[1] > 0 &&
              it.q->dims[1] % it.k->dims[1] == 0 &&
              std::equal(it.k->dims.begin(), it.k->dims.begin() + 3,
                         it.v->dims.begin());
  if (!fits) {
    node.invalid("queries " + formatInts(it.q->dims) + ", keys " +
                 formatInts(it.k->dims) + " and values " +
                 formatInts(it.v->dims) + " do not fit together");
  }
  return fits;
}

Tensor divisi::restrict(Emitter &emit, const Tensor &mask,
                        const Tensor &allowed, DType type) {
  if (!mask) {
    return allowed;
  }
  if (mask->type == DType::Bool) {
    return emit.binary("and", mask, allowed);
  }
  return emit.select(allowed, mask, emit.scalar(type, kMinusInfinity));
}

Tensor divisi::withinBounds(Emitter &emit, const AttentionNode &it,
                            const Tensor &offset) {
  Tensor key = emit.iota(DType::I64, {1, 1, 1, it.keys()}, 3);
  Tensor position = emit.binary(
      "add", emit.iota(DType::I64, {1, 1, it.queries(), 1}, 2), offset);
  auto shifted = [&](int64_t by) {
    return emit.binary("add", position,
                       emit.reshape(emit.ints({by}), {1, 1, 1, 1}));
  };
  Tensor allowed;
  if (it.right >= 0) {
    allowed = emit.compare("le", key, shifted(it.right));
  }
  if (it.left >= 0) {
    Tensor behind = emit.compare("ge", key, shifted(-it.left));
    allowed = allowed ? emit.binary("and", allowed, behind) : behind;
  }
  return allowed;
}

Tensor divisi::keysBefore(Emitter &emit, const AttentionNode &it,
                          const Tensor &length) {
  return emit.compare("lt", emit.iota(DType::I64, {1, 1, 1, it.keys()}, 3),
                      length);
}

Tensor divisi::attend(Emitter &emit, const AttentionNode &it) {
  std::vector<Tensor> operands = {it.q, it.k, it.v};
  if (it.mask) {
    operands.push_back(it.mask);
  }
  const rt::Dims &q = it.q->dims;
  return emit.emit("attention", operands,
                   {{"scale", it.scale},
                    {"softcap", it.softcap},
                    {"left", it.left},
                    {"right", it.right},
                    {"offset", it.offset}},
                   it.q->type, {q[0], q[1], q[2], it.v->dims[3]});
}

Tensor divisi::rotate(Emitter &emit, const Tensor &x, const Tensor &cos,
                      const Tensor &sin, int64_t axis, bool interleaved) {
  rt::Dims dims = cos->dims;
  dims.insert(dims.begin() + (axis == 1 ? 2 : 1), 1);
  return emit.emit("rotary",
                   {x, emit.reshape(cos, dims), emit.reshape(sin, dims)},
                   {{"interleaved", int64_t{interleaved}}}, x->type, x->dims);
}
