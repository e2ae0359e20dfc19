//===- Npy.cpp - NumPy's .npy ---------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is NumPy's NEP 1: magic, version, and a header that is a Python
// dictionary of exactly three keys, `descr`, `fortran_order` and `shape`.
//
//===----------------------------------------------------------------------===//

#include "runtime/tensors/Npy.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>

using namespace divisi;
using namespace divisi::rt;

static_assert(std::endian::native == std::endian::little,
              "tensors are read and written as they lie in memory");

namespace {

/// What NumPy itself has no type for is called as ml_dtypes does it: bf16 has
/// two bytes of no type, and i4, u4 and f8 have one, so that who reads such a
/// file must know which is meant.
struct NumpyName {
  DType type;
  std::string_view name; ///< Without the byte order.
};

/// Reads the header's dictionary.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text_(text) {}
  /// False if it is no such dictionary; `descr`, `isFortran`, `dims` are set
  /// otherwise.
  bool read();

  std::string_view descr;
  bool isFortran = false;
  Dims dims;

private:
  bool eat(char c);
  bool eat(std::string_view word);
  bool readString(std::string_view &value);
  bool readBool(bool &value);
  bool readShape();
  void skipSpace() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
};

} // namespace

static constexpr std::array<NumpyName, 14> numpyNames = {
    {{DType::F64, "f8"},
     {DType::F32, "f4"},
     {DType::F16, "f2"},
     {DType::BF16, "V2"},
     {DType::I8, "i1"},
     {DType::I16, "i2"},
     {DType::I32, "i4"},
     {DType::I64, "i8"},
     {DType::U8, "u1"},
     {DType::U16, "u2"},
     {DType::U32, "u4"},
     {DType::U64, "u8"},
     {DType::Bool, "b1"},
     // numpy.load does not know this name.
     {DType::F8E5M2, "f1"}}};
static constexpr std::string_view opaqueByte = "V1";
static constexpr std::string_view magic = "\x93NUMPY";

bool HeaderReader::eat(char c) {
  skipSpace();
  if (text_.empty() || text_.front() != c) {
    return false;
  }
  text_.remove_prefix(1);
  return true;
}

bool HeaderReader::eat(std::string_view word) {
  skipSpace();
  if (!text_.starts_with(word)) {
    return false;
  }
  text_.remove_prefix(word.size());
  return true;
}

bool HeaderReader::readString(std::string_view &value) {
  char quote = eat('\'') ? '\'' : '"';
  if (quote == '"' && !eat('"')) {
    return false;
  }
  size_t end = text_.find(quote);
  if (end == std::string_view::npos) {
    return false;
  }
  value = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  return true;
}

bool HeaderReader::readBool(bool &value) {
  value = eat("True");
  return value || eat("False");
}

bool HeaderReader::readShape() {
  if (!eat('(')) {
    return false;
  }
  while (!eat(')')) {
    skipSpace();
    int64_t dim = 0;
    auto [end, error] =
        std::from_chars(text_.data(), text_.data() + text_.size(), dim);
    if (error != std::errc() || dim < 0 || dims.size() == 64) {
      return false;
    }
    text_.remove_prefix(end - text_.data());
    dims.push_back(dim);
    if (!eat(',')) {
      return eat(')');
    }
  }
  return true;
}

bool HeaderReader::read() {
  unsigned seen = 0;
  if (!eat('{')) {
    return false;
  }
  while (!eat('}')) {
    std::string_view key;
    if (!readString(key) || !eat(':')) {
      return false;
    }
    unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : 4;
    bool isRead = bit == 1   ? readString(descr)
                  : bit == 2 ? readBool(isFortran)
                             : key == "shape" && readShape();
    if (!isRead || (seen & bit) != 0) {
      return false;
    }
    seen |= bit;
    if (!eat(',') && !text_.starts_with("}")) {
      return false;
    }
  }
  return seen == 7;
}

/// For a byte of no type it is one of those that it may be.
static Expected<DType> parseDescr(std::string_view descr) {
  if (descr == "<V1" || descr == "|V1") {
    return DType::F8E4M3FN;
  }
  for (const NumpyName &row : numpyNames) {
    bool hasNoOrder = byteWidth(row.type) == 1 || row.type == DType::BF16;
    if (descr.size() == 3 && descr.substr(1) == row.name &&
        (descr[0] == '<' || (hasNoOrder && descr[0] == '|'))) {
      return row.type;
    }
  }
  return makeError(ExitCode::Unsupported, "element type '", descr,
                   "' of NumPy; expected little-endian booleans, integers or "
                   "floats, as astype makes them");
}

/// The elements of `columns`, which lie in column-major order, in row-major.
static Expected<HostTensor> fromFortran(const HostTensor &columns) {
  Expected<HostTensor> rows = HostTensor::zeros(columns.type(), columns.dims());
  if (!rows) {
    return rows;
  }
  const Dims &dims = columns.dims();
  int64_t width = byteWidth(columns.type());
  Dims index(dims.size(), 0), strides(dims.size(), width);
  for (size_t d = 1; d < dims.size(); ++d) {
    strides[d] = strides[d - 1] * dims[d - 1];
  }
  std::byte *out = rows->data();
  int64_t offset = 0;
  for (int64_t i = 0; i < columns.count(); ++i, out += width) {
    std::memcpy(out, columns.data() + offset, width);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < dims[d]) {
        break;
      }
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  return rows;
}

static Status badNpy(const char *what) {
  return makeError(ExitCode::Invalid, "damaged .npy: ", what);
}

/// Where the header's dictionary is.
static Expected<std::string_view> findHeader(std::string_view text,
                                             uint64_t size) {
  if (text.size() < 10 || !text.starts_with(magic)) {
    return badNpy("it does not begin like a NumPy file");
  }
  auto version = static_cast<uint8_t>(text[6]);
  if (version < 1 || version > 3) {
    return makeError(ExitCode::Unsupported, ".npy of format version ",
                     int(version), "; expected 1, 2 or 3");
  }
  // The header's length has two bytes in version 1 and four since.
  size_t begin = version == 1 ? 10 : 12;
  uint32_t length = 0;
  if (text.size() < begin) {
    return badNpy("its header is cut off");
  }
  std::memcpy(&length, text.data() + 8, begin - 8);
  if (length > size - begin) {
    return badNpy("its header is cut off");
  }
  if (length > maxNpyHeader - begin) {
    return badNpy("its header is longer than 64 KiB");
  }
  return text.substr(begin, length);
}

Expected<NpyHeader> divisi::rt::readNpyHeader(std::span<const std::byte> begin,
                                              uint64_t size) {
  std::string_view text(reinterpret_cast<const char *>(begin.data()),
                        begin.size());
  Expected<std::string_view> dictionary = findHeader(text, size);
  if (!dictionary) {
    return dictionary.status();
  }
  HeaderReader reader(*dictionary);
  if (!reader.read()) {
    return badNpy("its header is not a dictionary of descr, fortran_order and "
                  "shape");
  }
  Expected<DType> type = parseDescr(reader.descr);
  if (!type) {
    return type.status();
  }
  NpyHeader header;
  header.head = {*type, reader.dims, *type == DType::F8E4M3FN};
  header.isFortran = reader.isFortran;
  header.bytes = dictionary->data() - text.data() + dictionary->size();
  std::optional<int64_t> bytes = checkedBytes(*type, reader.dims);
  if (!bytes || static_cast<uint64_t>(*bytes) != size - header.bytes) {
    return makeError(ExitCode::Invalid, "damaged .npy: got ",
                     size - header.bytes, " bytes for ",
                     describe(*type, reader.dims));
  }
  return header;
}

Expected<HostTensor> divisi::rt::parseNpy(std::span<const std::byte> bytes) {
  Expected<NpyHeader> header = readNpyHeader(bytes, bytes.size());
  if (!header) {
    return header.status();
  }
  const TensorHead &head = header->head;
  Expected<HostTensor> tensor =
      HostTensor::copyOf(head.type, head.dims, bytes.subspan(header->bytes));
  if (tensor && header->isFortran && head.dims.size() > 1) {
    tensor = fromFortran(*tensor);
  }
  if (tensor && head.isOpaque) {
    tensor->setOpaque();
  }
  return tensor;
}

std::string divisi::rt::formatNpyHeader(DType type, const Dims &dims) {
  std::string_view name = opaqueByte;
  for (const NumpyName &row : numpyNames) {
    name = row.type == type && type != DType::F8E5M2 ? row.name : name;
  }
  std::ostringstream os;
  os << "{'descr': '" << (byteWidth(type) == 1 ? '|' : '<') << name
     << "', 'fortran_order': False, 'shape': (";
  for (size_t d = 0; d < dims.size(); ++d) {
    os << (d == 0 ? "" : " ") << dims[d] << ",";
  }
  os << "), }";
  std::string dictionary = os.str();
  // Spaces and a line end up to a multiple of 64, so that data is aligned. 64
  // dimensions of 20 digits stay below the 65535 of version 1.
  dictionary.resize((10 + dictionary.size() + 64) / 64 * 64 - 11, ' ');
  dictionary += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
             static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary;
}
