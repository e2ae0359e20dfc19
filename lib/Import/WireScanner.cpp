//===- WireScanner.cpp - Leave the weights in the file --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireScanner.h"

#include <algorithm>
#include <iterator>

using namespace divisi;

/// Raw data of at most this many bytes stays in the slim model.
static constexpr uint64_t kSmall = 0;

namespace {

/// The messages on the way from a model to its tensors.
enum class Message {
  Model,
  Graph,
  Node,
  Attribute,
  Function,
  Tensor,
  SparseTensor,
  Dropped
};

/// A field that holds such a message.
struct Child {
  Message parent;
  uint32_t field;
  Message message;
  bool repeated;
};

enum WireType : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message: where its key, its payload and its end are.
struct Field {
  uint32_t number = 0;
  uint32_t type = Varint;
  size_t begin = 0, payload = 0, end = 0;
};

class Scanner {
public:
  Scanner(std::span<const std::byte> file, const std::string &path,
          const OnnxLimits &limits)
      : file_(file), path_(path), limits_(limits) {}

  Expected<SlimModel> run();

private:
  bool rewrite(Message message, size_t begin, size_t end, int depth,
               std::string &out);
  bool rewriteTensor(size_t begin, size_t end, std::string &out);
  bool nextField(Message message, size_t &at, size_t end, Field &field);
  bool readVarint(size_t &at, size_t end, uint64_t &value);
  bool fail(size_t at, const std::string &what);

  void copy(const Field &field, std::string &out) {
    out.append(reinterpret_cast<const char *>(file_.data()) + field.begin,
               field.end - field.begin);
  }

  std::span<const std::byte> file_;
  const std::string &path_;
  const OnnxLimits &limits_;
  int64_t nodes_ = 0;
  std::vector<SlimModel::Location> locations_;
  Status status_;
};

} // namespace

/// Field numbers are those of onnx.proto; ReaderTest compares them with it.
static constexpr Child kChildren[] = {
    {Message::Model, 7, Message::Graph, false},
    {Message::Model, 20, Message::Dropped, true}, // training_info
    {Message::Model, 25, Message::Function, true},
    {Message::Graph, 1, Message::Node, true},
    {Message::Graph, 5, Message::Tensor, true},
    {Message::Graph, 15, Message::SparseTensor, true},
    {Message::Node, 5, Message::Attribute, true},
    {Message::Attribute, 5, Message::Tensor, false},
    {Message::Attribute, 6, Message::Graph, false},
    {Message::Attribute, 10, Message::Tensor, true},
    {Message::Attribute, 11, Message::Graph, true},
    {Message::Attribute, 22, Message::SparseTensor, false},
    {Message::Attribute, 23, Message::SparseTensor, true},
    {Message::Function, 7, Message::Node, true},
    {Message::Function, 11, Message::Attribute, true},
    {Message::SparseTensor, 1, Message::Tensor, false},
    {Message::SparseTensor, 2, Message::Tensor, false},
};
static constexpr uint32_t kRawData = 9, kTensorDoc = 12;

static const char *nameOf(Message message) {
  static constexpr const char *kNames[] = {
      "ModelProto",    "GraphProto",  "NodeProto",         "AttributeProto",
      "FunctionProto", "TensorProto", "SparseTensorProto", "message"};
  return kNames[static_cast<int>(message)];
}

static void appendVarint(uint64_t value, std::string &out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

static void appendBytes(uint32_t number, const std::string &bytes,
                        std::string &out) {
  appendVarint(uint64_t{number} << 3 | Bytes, out);
  appendVarint(bytes.size(), out);
  out += bytes;
}

bool Scanner::fail(size_t at, const std::string &what) {
  status_ = Status(ExitCode::Invalid,
                   "'" + path_ + "' is not a valid ONNX model: " + what +
                       " at byte " + std::to_string(at));
  return false;
}

bool Scanner::readVarint(size_t &at, size_t end, uint64_t &value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < end; shift += 7) {
    uint64_t byte = std::to_integer<uint64_t>(file_[at++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return fail(at, "a varint does not end");
}

/// Every length is compared with what is left before anything is read.
bool Scanner::nextField(Message message, size_t &at, size_t end, Field &field) {
  uint64_t key = 0, length = 0;
  field.begin = at;
  if (!readVarint(at, end, key)) {
    return false;
  }
  field.number = static_cast<uint32_t>(key >> 3);
  field.type = key & 7;
  field.payload = at;
  uint64_t left = end - at;
  switch (field.type) {
  case Varint: {
    uint64_t ignored = 0;
    if (!readVarint(at, end, ignored)) {
      return false;
    }
    field.end = at;
    return true;
  }
  case Fixed64:
    length = 8;
    break;
  case Fixed32:
    length = 4;
    break;
  case Bytes:
    if (!readVarint(at, end, length)) {
      return false;
    }
    field.payload = at;
    left = end - at;
    break;
  default:
    return fail(field.begin, std::string(nameOf(message)) +
                                 " has a field of unknown wire type " +
                                 std::to_string(field.type));
  }
  if (key >> 35 || field.number == 0) {
    return fail(field.begin, std::string(nameOf(message)) +
                                 " has an impossible field number");
  }
  if (length > left) {
    return fail(field.begin, std::string(nameOf(message)) + " field " +
                                 std::to_string(field.number) + " wants " +
                                 std::to_string(length) + " bytes, got " +
                                 std::to_string(left) +
                                 " (is the file truncated?)");
  }
  at += length;
  field.end = at;
  return true;
}

/// Copies a message, its children rewritten.
bool Scanner::rewrite(Message message, size_t begin, size_t end, int depth,
                      std::string &out) {
  if (message == Message::Graph && ++depth > limits_.depth) {
    return fail(begin, "graphs are nested deeper than " +
                           std::to_string(limits_.depth) + " levels");
  }
  if (message == Message::Node && ++nodes_ > limits_.nodes) {
    return fail(begin, "there are more than " + std::to_string(limits_.nodes) +
                           " nodes");
  }
  // A second value of a singular message would be merged into the first.
  std::vector<uint32_t> seen;
  for (size_t at = begin; at < end;) {
    Field field;
    if (!nextField(message, at, end, field)) {
      return false;
    }
    const Child *child = std::find_if(
        std::begin(kChildren), std::end(kChildren), [&](const Child &c) {
          return c.parent == message && c.field == field.number;
        });
    if (child == std::end(kChildren)) {
      copy(field, out);
      continue;
    }
    if (field.type != Bytes) {
      return fail(field.begin, std::string(nameOf(message)) + " field " +
                                   std::to_string(field.number) +
                                   " is not a message");
    }
    if (!child->repeated) {
      if (std::find(seen.begin(), seen.end(), field.number) != seen.end()) {
        return fail(field.begin, std::string(nameOf(message)) + " field " +
                                     std::to_string(field.number) +
                                     " occurs twice");
      }
      seen.push_back(field.number);
    }
    if (child->message == Message::Dropped) {
      continue;
    }
    std::string inner;
    bool done =
        child->message == Message::Tensor
            ? rewriteTensor(field.payload, field.end, inner)
            : rewrite(child->message, field.payload, field.end, depth, inner);
    if (!done) {
      return false;
    }
    appendBytes(field.number, inner, out);
  }
  return true;
}

/// Small data stays: shapes and scalars are read at once, and a location costs
/// more than they do.
bool Scanner::rewriteTensor(size_t begin, size_t end, std::string &out) {
  bool hasRaw = false;
  for (size_t at = begin; at < end;) {
    Field field;
    if (!nextField(Message::Tensor, at, end, field)) {
      return false;
    }
    bool isRaw = field.number == kRawData && field.type == Bytes;
    if (isRaw && hasRaw) {
      return fail(field.begin, "TensorProto has raw_data twice");
    }
    hasRaw |= isRaw;
    size_t length = field.end - field.payload;
    if (isRaw && length > kSmall) {
      appendBytes(kTensorDoc, std::to_string(locations_.size()), out);
      locations_.push_back(
          {static_cast<int64_t>(field.payload), static_cast<int64_t>(length)});
    } else if (field.number != kTensorDoc) {
      copy(field, out);
    }
  }
  return true;
}

// protobuf holds 2 GiB; weights, which are left out, do not count.
Expected<SlimModel> Scanner::run() {
  if (file_.empty()) {
    return Status(ExitCode::Invalid,
                  "'" + path_ + "' is empty; expected an ONNX model");
  }
  SlimModel model;
  if (!rewrite(Message::Model, 0, file_.size(), 0, model.bytes)) {
    return status_;
  }
  if (model.bytes.size() > INT32_MAX) {
    return Status(ExitCode::Invalid,
                  "'" + path_ + "' has " + std::to_string(model.bytes.size()) +
                      " bytes beside its weights, more than the 2 GiB that "
                      "protobuf holds; export it with external data");
  }
  model.locations = std::move(locations_);
  return model;
}

Expected<SlimModel> divisi::scanModel(std::span<const std::byte> file,
                                      const std::string &path,
                                      const OnnxLimits &limits) {
  return Scanner(file, path, limits).run();
}
