//===- SourceHash.cpp - Where the globals of a text lie -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceHash.h"

#include "dialects/NN/NN.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <map>

using namespace mlir;
using namespace divisi;

/// What `files` says of the content of `name`; of a file that was not there,
/// its name.
static std::string contentOf(DictionaryAttr files, StringRef name) {
  Attribute content = files ? files.get(name) : Attribute();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!content) {
    os << "unknown " << name;
  } else if (content == DictionaryAttr::get(content.getContext())) {
    os << "absent " << llvm::sys::path::filename(name);
  } else {
    os << content;
  }
  return text;
}

Expected<std::string> divisi::hashOfSources(ModuleOp text,
                                            const ResourceBytes &bytesOf) {
  auto files = text->getAttrOfType<DictionaryAttr>(kFilesAttr);
  std::map<std::string, std::string> sources;
  for (auto global : text.getOps<nn::GlobalOp>()) {
    StringRef name = global.getFile().value_or("");
    if (name.empty()) {
      continue;
    }
    std::string content;
    if (StringRef key = name; key.consume_front(kResource)) {
      Expected<std::span<const std::byte>> bytes = bytesOf(key);
      if (!bytes) {
        return bytes.status().in("the global @" + global.getSymName().str());
      }
      content = std::to_string(llvm::xxh3_64bits(ArrayRef<uint8_t>(
          reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size())));
    } else {
      content = contentOf(files, name);
    }
    llvm::raw_string_ostream(sources[global.getSymName().str()])
        << content << " " << *global.getOffset() << " " << *global.getLength();
  }
  std::string all;
  for (const auto &[name, source] : sources) {
    all += name + " " + source + "\n";
  }
  return llvm::utohexstr(llvm::xxh3_64bits(StringRef(all)), /*LowerCase=*/true,
                         /*Width=*/16);
}

Status divisi::checkSources(ModuleOp text, const ResourceBytes &bytesOf) {
  Attribute noted = text->removeAttr(kSourcesAttr);
  if (!noted) {
    return Status();
  }
  Expected<std::string> hash = hashOfSources(text, bytesOf);
  if (!hash) {
    return hash.status();
  }
  auto expected = dyn_cast<StringAttr>(noted);
  return expected && expected.getValue() == *hash
             ? Status()
             : Status(ExitCode::Invalid,
                      "the globals do not lie where they did when the module "
                      "was partitioned: a file, an offset, a resource or " +
                          kFilesAttr.str() +
                          " has been edited; if this is intended, edit the "
                          "module before the partition stage, or drop " +
                          kSourcesAttr.str());
}
