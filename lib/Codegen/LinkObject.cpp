//===- LinkObject.cpp - A shared object of one relocatable one ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code needs little of a linker: it refers to nothing but its own
// constants, relative to where it stands. So what is made here is one segment
// that is read and run, one with what a loader wants to know, and no more:
//
//   header, program headers, names, symbols, hash table, code, constants
//   table for the loader (on a page of its own: loaders write there)
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ObjectFile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;
using namespace llvm::object;
using namespace divisi;

namespace {

/// Lays out one shared object.
class ObjectLinker {
public:
  ObjectLinker(const ELF64LEObjectFile &object, const std::string &name)
      : object_(object), name_(name) {}
  divisi::Expected<std::string> link();

private:
  Status placeSections();
  Status relocate(const SectionRef &section);
  divisi::Expected<uint64_t> addressOf(const SymbolRef &symbol);
  Status addSymbols();
  void addTables();
  void addHeaders();

  template <typename T> T *at(uint64_t offset) {
    return reinterpret_cast<T *>(image_.data() + offset);
  }
  uint64_t append(uint64_t bytes, uint64_t alignment);

  const ELF64LEObjectFile &object_;
  const std::string &name_;
  /// What is loaded: offsets are addresses.
  std::string image_;
  DenseMap<uint64_t, uint64_t> addresses_; ///< Of sections that are loaded.
  uint64_t names_ = 0, symbols_ = 0, hash_ = 0, dynamic_ = 0;
  uint64_t codeEnd_ = 0;
};

constexpr uint64_t kPage = 4096;
constexpr unsigned kSegments = 4, kEntries = 6;

} // namespace

template <typename... Parts> static Status refused(const Parts &...parts) {
  return makeError(ExitCode::Internal, "generated code ", parts...);
}

uint64_t ObjectLinker::append(uint64_t bytes, uint64_t alignment) {
  uint64_t begin = alignTo(image_.size(), alignment);
  image_.resize(begin + bytes);
  return begin;
}

Status ObjectLinker::placeSections() {
  for (const ELFSectionRef section : object_.sections()) {
    bool isLoaded = section.getFlags() & ELF::SHF_ALLOC;
    // How to unwind is for exceptions, which code does not throw.
    if (!isLoaded || section.getType() == ELF::SHT_X86_64_UNWIND ||
        section.getSize() == 0) {
      continue;
    }
    llvm::Expected<StringRef> contents = section.getContents();
    if ((section.getFlags() & ELF::SHF_WRITE) || !contents) {
      consumeError(contents.takeError());
      return refused("has data that can change");
    }
    uint64_t address = append(contents->size(), section.getAlignment().value());
    std::memcpy(at<char>(address), contents->data(), contents->size());
    addresses_[section.getIndex()] = address;
  }
  codeEnd_ = image_.size();
  return Status();
}

divisi::Expected<uint64_t> ObjectLinker::addressOf(const SymbolRef &symbol) {
  llvm::Expected<section_iterator> section = symbol.getSection();
  llvm::Expected<uint64_t> value = symbol.getValue();
  if (section && value && *section != object_.section_end()) {
    if (auto found = addresses_.find((*section)->getIndex());
        found != addresses_.end()) {
      return found->second + *value;
    }
  }
  consumeError(section.takeError());
  consumeError(value.takeError());
  llvm::Expected<StringRef> name = symbol.getName();
  std::string wanted = name ? name->str() : "";
  consumeError(name.takeError());
  return refused("wants '", wanted, "', which it does not have");
}

Status ObjectLinker::relocate(const SectionRef &section) {
  llvm::Expected<section_iterator> target = section.getRelocatedSection();
  if (!target || *target == object_.section_end()) {
    consumeError(target.takeError());
    return Status();
  }
  auto place = addresses_.find((*target)->getIndex());
  if (place == addresses_.end()) {
    return Status();
  }
  for (const ELFRelocationRef relocation : section.relocations()) {
    auto type = relocation.getType();
    llvm::Expected<int64_t> addend = relocation.getAddend();
    if (!addend ||
        (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)) {
      consumeError(addend.takeError());
      return refused("has a relocation of type ", type);
    }
    divisi::Expected<uint64_t> symbol = addressOf(*relocation.getSymbol());
    if (!symbol) {
      return symbol.status();
    }
    uint64_t at = place->second + relocation.getOffset();
    support::endian::write32le(image_.data() + at,
                               uint32_t(*symbol + *addend - at));
  }
  return Status();
}

/// One function, by name.
Status ObjectLinker::addSymbols() {
  for (const ELFSymbolRef symbol : object_.symbols()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name || *name != name_) {
      consumeError(name.takeError());
      continue;
    }
    divisi::Expected<uint64_t> address = addressOf(symbol);
    if (!address) {
      return address.status();
    }
    auto *entry = at<ELF::Elf64_Sym>(symbols_ + sizeof(ELF::Elf64_Sym));
    entry->st_name = 1;
    entry->setBindingAndType(ELF::STB_GLOBAL, ELF::STT_FUNC);
    entry->st_shndx = 1; // defined; there are no section headers to count
    entry->st_value = *address;
    entry->st_size = symbol.getSize();
    return Status();
  }
  return refused("has no function '", name_, "'");
}

/// One bucket, and in it one symbol.
void ObjectLinker::addTables() {
  const uint32_t table[] = {1, 2, 1, 0, 0};
  std::memcpy(at<char>(hash_), table, sizeof(table));
  std::memcpy(at<char>(names_ + 1), name_.data(), name_.size());
  dynamic_ = append(kEntries * sizeof(ELF::Elf64_Dyn), kPage);
  const std::pair<int64_t, uint64_t> entries[kEntries] = {
      {ELF::DT_HASH, hash_},
      {ELF::DT_STRTAB, names_},
      {ELF::DT_SYMTAB, symbols_},
      {ELF::DT_STRSZ, name_.size() + 2},
      {ELF::DT_SYMENT, sizeof(ELF::Elf64_Sym)},
      {ELF::DT_NULL, 0}};
  auto *to = at<ELF::Elf64_Dyn>(dynamic_);
  for (auto [tag, value] : entries) {
    to->d_tag = tag;
    to++->d_un.d_val = value;
  }
}

void ObjectLinker::addHeaders() {
  auto *header = at<ELF::Elf64_Ehdr>(0);
  std::memcpy(header->e_ident, ELF::ElfMagic, 4);
  header->e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header->e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header->e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header->e_type = ELF::ET_DYN;
  header->e_machine = ELF::EM_X86_64;
  header->e_version = ELF::EV_CURRENT;
  header->e_phoff = sizeof(ELF::Elf64_Ehdr);
  header->e_ehsize = sizeof(ELF::Elf64_Ehdr);
  header->e_phentsize = sizeof(ELF::Elf64_Phdr);
  header->e_phnum = kSegments;
  auto *segment = at<ELF::Elf64_Phdr>(sizeof(ELF::Elf64_Ehdr));
  auto add = [&](uint32_t type, uint32_t flags, uint64_t begin, uint64_t end) {
    *segment = {};
    segment->p_type = type;
    segment->p_flags = flags;
    segment->p_offset = segment->p_vaddr = segment->p_paddr = begin;
    segment->p_filesz = segment->p_memsz = end - begin;
    segment->p_align = type == ELF::PT_LOAD ? kPage : 8;
    ++segment;
  };
  add(ELF::PT_LOAD, ELF::PF_R | ELF::PF_X, 0, codeEnd_);
  add(ELF::PT_LOAD, ELF::PF_R | ELF::PF_W, dynamic_, image_.size());
  add(ELF::PT_DYNAMIC, ELF::PF_R | ELF::PF_W, dynamic_, image_.size());
  add(ELF::PT_GNU_STACK, ELF::PF_R | ELF::PF_W, 0, 0);
}

divisi::Expected<std::string> ObjectLinker::link() {
  append(sizeof(ELF::Elf64_Ehdr) + kSegments * sizeof(ELF::Elf64_Phdr), 8);
  names_ = append(name_.size() + 2, 1);
  symbols_ = append(2 * sizeof(ELF::Elf64_Sym), 8);
  hash_ = append(5 * sizeof(uint32_t), 4);
  Status status = placeSections();
  for (const SectionRef &section : object_.sections()) {
    if (status.isOk()) {
      status = relocate(section);
    }
  }
  if (status.isOk()) {
    status = addSymbols();
  }
  if (!status.isOk()) {
    return status;
  }
  addTables();
  addHeaders();
  return std::move(image_);
}

divisi::Expected<std::string> divisi::linkObject(const std::string &object,
                                                 const std::string &name) {
  auto read =
      ObjectFile::createELFObjectFile(MemoryBufferRef(object, "object"));
  if (!read) {
    return refused("cannot be read: ", toString(read.takeError()));
  }
  // compileModule() makes no other.
  return ObjectLinker(cast<ELF64LEObjectFile>(**read), name).link();
}
