//===- Zip.cpp - The ZIP archives that NumPy writes -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PKWARE's APPNOTE 6.3, of which an .npz uses little: no encryption, one disk,
// stored or deflated entries. Sizes are taken from the directory at the end
// only, because NumPy leaves them open in the entries' own headers.
//
//===----------------------------------------------------------------------===//

#include "runtime/tensors/Zip.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

using namespace divisi;
using namespace divisi::rt;

static constexpr uint32_t localSignature = 0x04034b50;
static constexpr uint32_t directorySignature = 0x02014b50;
static constexpr uint32_t endSignature = 0x06054b50;
static constexpr uint32_t end64Signature = 0x06064b50;
static constexpr uint32_t locator64Signature = 0x07064b50;
static constexpr uint64_t endBytes = 22;
static constexpr uint32_t none32 = 0xffffffff;
/// Deflate packs at most so many bytes into one.
static constexpr uint64_t mostRatio = 1032;

static Status badZip(const char *what) {
  return makeError(ExitCode::Invalid, "damaged archive: ", what);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

template <typename T>
static T readAt(std::span<const std::byte> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

static bool fits(std::span<const std::byte> bytes, uint64_t offset,
                 uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

namespace {

/// Where the directory lies.
struct Directory {
  uint64_t offset = 0, bytes = 0, entries = 0;
};

} // namespace

static Expected<Directory> findDirectory(std::span<const std::byte> bytes) {
  if (bytes.size() < endBytes) {
    return badZip("shorter than its smallest form");
  }
  // The end record is last, but for a comment of at most 65535 bytes.
  uint64_t last = bytes.size() - endBytes;
  uint64_t first = last > 65535 ? last - 65535 : 0;
  uint64_t end = last;
  while (readAt<uint32_t>(bytes, end) != endSignature) {
    if (end == first) {
      return badZip("it has no directory at its end; it may be truncated");
    }
    --end;
  }
  Directory directory{readAt<uint32_t>(bytes, end + 16),
                      readAt<uint32_t>(bytes, end + 12),
                      readAt<uint16_t>(bytes, end + 10)};
  bool is64 =
      end >= 20 && readAt<uint32_t>(bytes, end - 20) == locator64Signature;
  if (is64) {
    uint64_t record = readAt<uint64_t>(bytes, end - 20 + 8);
    if (!fits(bytes, record, 56) ||
        readAt<uint32_t>(bytes, record) != end64Signature) {
      return badZip("its 64-bit directory is not where it should be");
    }
    directory = {readAt<uint64_t>(bytes, record + 48),
                 readAt<uint64_t>(bytes, record + 40),
                 readAt<uint64_t>(bytes, record + 32)};
  }
  if (!fits(bytes, directory.offset, directory.bytes)) {
    return badZip("its directory does not fit into the file");
  }
  return directory;
}

/// Sizes and offset of an entry, taken from the 64-bit extra field where the
/// directory says that they do not fit.
static bool readExtra64(std::span<const std::byte> extra, uint64_t &size,
                        uint64_t &packed, uint64_t &offset) {
  bool complete = size != none32 && packed != none32 && offset != none32;
  while (!complete && extra.size() >= 4) {
    auto id = readAt<uint16_t>(extra, 0);
    auto length = readAt<uint16_t>(extra, 2);
    if (!fits(extra, 4, length)) {
      return false;
    }
    if (id == 1) {
      std::span<const std::byte> field = extra.subspan(4, length);
      for (uint64_t *value : {&size, &packed, &offset}) {
        if (*value != none32) {
          continue;
        }
        if (field.size() < 8) {
          return false;
        }
        *value = readAt<uint64_t>(field, 0);
        field = field.subspan(8);
      }
      return true;
    }
    extra = extra.subspan(4 + length);
  }
  return complete;
}

/// Reads the directory record at `cursor` and moves it to the next one; `begin`
/// gets where the entry's header is.
static Expected<ZipEntry> readRecord(std::span<const std::byte> bytes,
                                     const Directory &directory,
                                     uint64_t &cursor, uint64_t &begin) {
  std::span<const std::byte> table =
      bytes.subspan(directory.offset, directory.bytes);
  if (!fits(table, cursor, 46) ||
      readAt<uint32_t>(table, cursor) != directorySignature) {
    return badZip("a directory record is cut off");
  }
  auto flags = readAt<uint16_t>(table, cursor + 8);
  auto method = readAt<uint16_t>(table, cursor + 10);
  uint64_t packed = readAt<uint32_t>(table, cursor + 20);
  uint64_t size = readAt<uint32_t>(table, cursor + 24);
  uint64_t nameBytes = readAt<uint16_t>(table, cursor + 28);
  uint64_t extraBytes = readAt<uint16_t>(table, cursor + 30);
  uint64_t commentBytes = readAt<uint16_t>(table, cursor + 32);
  uint64_t offset = readAt<uint32_t>(table, cursor + 42);
  if (!fits(table, cursor + 46, nameBytes + extraBytes + commentBytes)) {
    return badZip("a directory record is cut off");
  }
  ZipEntry entry;
  entry.name.assign(reinterpret_cast<const char *>(table.data()) + cursor + 46,
                    nameBytes);
  entry.crc = readAt<uint32_t>(table, cursor + 16);
  if (!readExtra64(table.subspan(cursor + 46 + nameBytes, extraBytes), size,
                   packed, offset)) {
    return badZip("a directory record lacks its 64-bit sizes");
  }
  cursor += 46 + nameBytes + extraBytes + commentBytes;

  if ((flags & 1) != 0 || (method != 0 && method != 8)) {
    return makeError(ExitCode::Unsupported, "entry '", entry.name,
                     "' is encrypted or compressed by method ", method,
                     "; expected stored or deflated");
  }
  if (!fits(bytes, offset, 30) ||
      readAt<uint32_t>(bytes, offset) != localSignature) {
    return badZip("an entry is not where the directory says");
  }
  uint64_t data = offset + 30 + readAt<uint16_t>(bytes, offset + 26) +
                  readAt<uint16_t>(bytes, offset + 28);
  // A stored entry is as large as it is.
  bool sizeIsPossible =
      method == 0 ? size == packed : size / mostRatio <= packed + 1;
  if (!fits(bytes, data, packed) || !sizeIsPossible) {
    return badZip("an entry's size is impossible");
  }
  begin = offset;
  entry.packed = bytes.subspan(data, packed);
  entry.isDeflated = method == 8;
  entry.size = size;
  return entry;
}

/// Entries that share bytes could claim together far more than the archive can
/// hold. `extents` are where each begins and ends, and the directory.
static Status checkApart(std::vector<std::pair<uint64_t, uint64_t>> extents) {
  std::ranges::sort(extents);
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].second) {
      return badZip("two entries share bytes");
    }
  }
  return {};
}

Expected<std::vector<ZipEntry>>
divisi::rt::readZip(std::span<const std::byte> bytes) {
  Expected<Directory> directory = findDirectory(bytes);
  if (!directory) {
    return directory.status();
  }
  std::vector<ZipEntry> entries;
  std::vector<std::pair<uint64_t, uint64_t>> extents = {
      {directory->offset, directory->offset + directory->bytes}};
  uint64_t cursor = 0, begin = 0;
  // The count may lie; each record takes 46 bytes of a directory that fits.
  for (uint64_t i = 0; i < directory->entries; ++i) {
    Expected<ZipEntry> entry = readRecord(bytes, *directory, cursor, begin);
    if (!entry) {
      return entry.status();
    }
    uint64_t end =
        uint64_t(entry->packed.data() - bytes.data()) + entry->packed.size();
    extents.emplace_back(begin, end);
    entries.push_back(std::move(*entry));
  }
  if (Status status = checkApart(std::move(extents)); !status.isOk()) {
    return status;
  }
  return entries;
}

static uint32_t crcOf(std::span<const std::byte> bytes, uint32_t crc = 0) {
  if (bytes.empty()) {
    return crc; // for a null address zlib returns its initial value
  }
  return static_cast<uint32_t>(crc32_z(
      crc, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

static bool inflateAll(const ZipEntry &entry, AlignedBytes &result) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return false;
  }
  std::span<const std::byte> in = entry.packed;
  std::span<std::byte> out = result.span();
  std::byte nothing; // zlib wants an address, also for an empty result
  stream.next_out = reinterpret_cast<Bytef *>(&nothing);
  constexpr size_t step = 1u << 30; // zlib counts in 32 bits
  int code = Z_OK;
  while (code == Z_OK) {
    if (stream.avail_in == 0) {
      size_t size = std::min(step, in.size());
      stream.next_in =
          reinterpret_cast<Bytef *>(const_cast<std::byte *>(in.data()));
      stream.avail_in = static_cast<uInt>(size);
      in = in.subspan(size);
    }
    if (stream.avail_out == 0 && !out.empty()) {
      size_t size = std::min(step, out.size());
      stream.next_out = reinterpret_cast<Bytef *>(out.data());
      stream.avail_out = static_cast<uInt>(size);
      out = out.subspan(size);
    }
    code = inflate(&stream, Z_NO_FLUSH);
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && out.empty() && stream.avail_out == 0;
}

/// Its first bytes, as many as fit; how many they are.
static size_t inflateHead(const ZipEntry &entry, std::span<std::byte> out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return 0;
  }
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<std::byte *>(entry.packed.data()));
  // What follows this many packed bytes is no head.
  stream.avail_in =
      static_cast<uInt>(std::min<size_t>(entry.packed.size(), 1u << 30));
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_SYNC_FLUSH);
  inflateEnd(&stream);
  return out.size() - stream.avail_out;
}

Expected<AlignedBytes> divisi::rt::unpackHead(const ZipEntry &entry,
                                              uint64_t most) {
  auto size = static_cast<int64_t>(std::min(most, entry.size));
  Expected<AlignedBytes> bytes = AlignedBytes::allocate(size);
  if (!bytes || size == 0) {
    return bytes;
  }
  if (!entry.isDeflated) {
    std::memcpy(bytes->data(), entry.packed.data(), size);
    return bytes;
  }
  size_t made = inflateHead(entry, bytes->span());
  std::fill(bytes->span().begin() + made, bytes->span().end(), std::byte{0});
  return bytes;
}

Expected<std::span<const std::byte>> divisi::rt::unpack(const ZipEntry &entry,
                                                        AlignedBytes &room) {
  if (entry.size > INT64_MAX) {
    return badZip("an entry's size is impossible");
  }
  std::span<const std::byte> content = entry.packed;
  if (entry.isDeflated) {
    Expected<AlignedBytes> bytes =
        AlignedBytes::allocate(static_cast<int64_t>(entry.size));
    if (!bytes) {
      return bytes.status();
    }
    room = std::move(*bytes);
    if (!inflateAll(entry, room)) {
      return badZip("an entry does not unpack to its size");
    }
    content = room.span();
  }
  if (crcOf(content) != entry.crc) {
    return badZip("an entry's checksum does not match");
  }
  return content;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename T> static void put(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

/// What the header of an entry and its directory record have in common. Sizes
/// are always in the 64-bit field: one form for small and large.
static std::string commonFields(const std::string &name, uint32_t crc,
                                uint16_t extraBytes) {
  std::string fields;
  put<uint16_t>(fields, 45);     // version needed: 64-bit sizes
  put<uint16_t>(fields, 0x800);  // names are UTF-8
  put<uint16_t>(fields, 0);      // stored
  put<uint16_t>(fields, 0);      // midnight of 1980-01-01, so that equal
  put<uint16_t>(fields, 0x0021); // tensors give equal files
  put<uint32_t>(fields, crc);
  put<uint32_t>(fields, none32);
  put<uint32_t>(fields, none32);
  put<uint16_t>(fields, static_cast<uint16_t>(name.size()));
  put<uint16_t>(fields, extraBytes);
  return fields;
}

Status ZipWriter::add(const std::string &name, const std::string &head,
                      std::span<const std::byte> data) {
  if (name.size() > UINT16_MAX) {
    return makeError(ExitCode::Usage, "a tensor's name has ", name.size(),
                     " bytes; an archive holds at most ", UINT16_MAX);
  }
  uint32_t crc = crcOf(data, crcOf(std::as_bytes(std::span<const char>(head))));
  uint64_t size = head.size() + data.size();
  auto offset = static_cast<uint64_t>(file_.offset());

  std::string local;
  put(local, localSignature);
  local += commonFields(name, crc, 20) + name;
  put<uint16_t>(local, 1);
  put<uint16_t>(local, 16);
  put(local, size);
  put(local, size);
  for (const auto &part : {local, head}) {
    if (Status status = file_.write(part); !status.isOk()) {
      return status;
    }
  }
  put(directory_, directorySignature);
  put<uint16_t>(directory_, 45);
  directory_ += commonFields(name, crc, 28);
  directory_ += std::string(10, '\0'); // comment, disk, attributes
  put(directory_, none32);
  directory_ += name;
  put<uint16_t>(directory_, 1);
  put<uint16_t>(directory_, 24);
  put(directory_, size);
  put(directory_, size);
  put(directory_, offset);
  ++count_;
  return file_.write(data);
}

Status ZipWriter::finish() {
  auto offset = static_cast<uint64_t>(file_.offset());
  uint64_t end = offset + directory_.size();
  std::string tail = directory_;
  put(tail, end64Signature);
  put<uint64_t>(tail, 44);
  put<uint16_t>(tail, 45);
  put<uint16_t>(tail, 45);
  put<uint64_t>(tail, 0);
  put(tail, count_);
  put(tail, count_);
  put<uint64_t>(tail, directory_.size());
  put(tail, offset);
  put(tail, locator64Signature);
  put<uint32_t>(tail, 0);
  put(tail, end);
  put<uint32_t>(tail, 1);
  put(tail, endSignature);
  put<uint32_t>(tail, 0);
  put<uint16_t>(tail, 0xffff);
  put<uint16_t>(tail, 0xffff);
  put(tail, none32);
  put(tail, none32);
  put<uint16_t>(tail, 0);
  return file_.write(tail);
}
