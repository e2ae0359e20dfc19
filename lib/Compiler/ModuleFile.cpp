//===- ModuleFile.cpp - Modules as text: dumps, hand-written IR -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"

#include "DataFiles.h"
#include "ErrorCollector.h"
#include "SourceHash.h"
#include "dialects/Exec/Exec.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Locations.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Compiler/ModuleText.h"
#include "divisi/Compiler/MoveNames.h"
#include "divisi/Support/OutputFile.h"
#include "passes/ModuleNotes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <filesystem>
#include <map>

using namespace mlir;
using namespace divisi;

/// Who the resources of a text are for, in MLIR's words.
static constexpr StringLiteral kResourceOwner = "divisi";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether every operator of every entry function has a strategy.
static bool isPlanned(ModuleOp module) {
  bool planned = !module.getOps<spmd::GridOp>().empty();
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (!spmd::isEntry(function)) {
      continue;
    }
    function.walk([&](nn::LoopInterface op) {
      bool isGlobal = isa<nn::ReadOp, nn::UpdateOp>(op.getOperation());
      planned &= isGlobal || spmd::getSplit(op);
    });
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      planned &= bool(spmd::getArgPlace(function, i));
    }
    // Those of bodies are places of arguments.
    for (unsigned i = 0; !nn::isBody(function) && i < function.getNumResults();
         ++i) {
      planned &= bool(spmd::getResultPlace(function, i));
    }
  }
  return planned;
}

static bool hasEntry(ModuleOp module) {
  return !module.getOps<exec::EntryOp>().empty() ||
         llvm::any_of(module.getOps<mlir::func::FuncOp>(),
                      [](mlir::func::FuncOp function) {
                        return spmd::isEntry(function) && !nn::isBody(function);
                      });
}

/// IR without a note of its stage was written by hand. What it says of
/// strategies the planner keeps; if it says all, there is nothing to plan.
static Expected<Stage> stageOf(ModuleOp module, const std::string &path) {
  auto name = module->getAttrOfType<StringAttr>(kStageAttr);
  if (!name) {
    return isPlanned(module) ? Stage::Plan : Stage::Import;
  }
  std::optional<Stage> stage = parseStage(name.getValue());
  if (!stage) {
    return Status(ExitCode::Invalid, path + ": unknown stage '" + name.str() +
                                         "'; expected import, train, rewrite, "
                                         "plan, partition, schedule or lower");
  }
  return *stage;
}

/// The file that a text in `folder` calls `name`.
static std::string placeIn(const std::string &folder, const std::string &name) {
  return resolvedPath((std::filesystem::path(folder) / name).string());
}

/// Gives `store` the resource that an entry of the text holds.
static LogicalResult keepResource(AsmParsedResourceEntry &entry,
                                  GlobalStore &store) {
  std::string name = (kResource + entry.getKey()).str();
  if (store.bytesInMemory(name)) {
    return entry.emitError() << "the resource '" << entry.getKey()
                             << "' is defined twice; remove one of them";
  }
  FailureOr<AsmResourceBlob> parsed = entry.parseAsBlob();
  if (failed(parsed)) {
    return failure();
  }
  auto blob = std::make_shared<AsmResourceBlob>(std::move(*parsed));
  ArrayRef<char> data = blob->getData();
  store.addBytes(name,
                 std::as_bytes(std::span<const char>(data.data(), data.size())),
                 std::move(blob));
  return success();
}

/// Takes what `divisi.files` says of files off the module.
static Expected<FileIdentities> takeFiles(ModuleOp module) {
  Attribute noted = module->removeAttr(kFilesAttr);
  auto files = dyn_cast_if_present<DictionaryAttr>(noted);
  if (noted && !files) {
    return Status(ExitCode::Invalid,
                  "divisi.files is not a dictionary of files");
  }
  FileIdentities identities;
  for (NamedAttribute file :
       files ? files.getValue() : ArrayRef<NamedAttribute>()) {
    auto content = dyn_cast<DictionaryAttr>(file.getValue());
    if (content && content.empty()) {
      continue; // It was not there.
    }
    auto bytes = content ? content.getAs<IntegerAttr>("bytes") : IntegerAttr();
    auto hash = content ? content.getAs<StringAttr>("sha256") : StringAttr();
    if (!bytes || !hash || hash.size() != 64 ||
        !llvm::all_of(hash.getValue(), llvm::isHexDigit)) {
      return Status(ExitCode::Invalid,
                    ("divisi.files has no size and hash for '" +
                     file.getName().strref() +
                     "', expected {bytes = N, sha256 = \"64 digits\"}")
                        .str());
    }
    identities[normalName(file.getName())] = {bytes.getInt(),
                                              hash.getValue().lower()};
  }
  return identities;
}

/// The bytes of a resource that keepResource has kept.
static Expected<std::span<const std::byte>>
bytesOfResource(StringRef key, const GlobalStore &store) {
  std::string name = (kResource + key).str();
  if (auto bytes = store.bytesInMemory(name)) {
    return *bytes;
  }
  return Status(ExitCode::Invalid,
                "lies in '" + name +
                    "', but the text has no such resource; it was truncated, "
                    "or its resources were left out");
}

/// Makes the names of files those of the store, which gets the files from
/// `files`, and checks that resources are there.
static Status resolveGlobals(ModuleOp module, DataFiles &files,
                             GlobalStore &store) {
  for (auto global : module.getOps<nn::GlobalOp>()) {
    if (!global.getFile()) {
      continue;
    }
    std::string file = global.getFile()->str();
    if (!StringRef(file).starts_with(kResource)) {
      global.setFile(files.find(file));
      continue;
    }
    auto whole =
        bytesOfResource(StringRef(file).drop_front(kResource.size()), store);
    if (!whole) {
      return whole.status().in("the global @" + global.getSymName().str());
    }
    auto bytes = store.bytes({file, *global.getOffset(), *global.getLength()});
    if (!bytes) {
      return bytes.status();
    }
  }
  Status status = files.checkUsed();
  return status.isOk() ? store.checkSizes() : status;
}

/// Gives every operation its place in the text: a location that the text says
/// itself names a node, not a line.
static void addPositions(const AsmParserState &state,
                         const llvm::SourceMgr &sources, MLIRContext &context) {
  unsigned buffer = sources.getMainFileID();
  StringRef name = sources.getMemoryBuffer(buffer)->getBufferIdentifier();
  for (const auto &definition : state.getOpDefs()) {
    Location said = definition.op->getLoc();
    if (isa<FileLineColRange>(said) &&
        cast<FileLineColRange>(said).getFilename() == name) {
      continue;
    }
    auto [line, column] =
        sources.getLineAndColumn(definition.loc.Start, buffer);
    definition.op->setLoc(nn::withPosition(
        said, FileLineColLoc::get(&context, name, line, column)));
  }
}

/// The module in `sources`; null and errors, with line and column, if it is
/// none or breaks a rule of its dialects.
static OwningOpRef<ModuleOp> parseModule(const llvm::SourceMgr &sources,
                                         const ParserConfig &config) {
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, &block, config, &state))) {
    return nullptr;
  }
  MLIRContext *context = config.getContext();
  StringRef name =
      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  addPositions(state, sources, *context);
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &block, context, FileLineColLoc::get(context, name, 0, 0));
  bool isValid = module && succeeded(verify(*module));
  return isValid ? std::move(module) : nullptr;
}

// Whether there is anything to run is asked last: what does not parse or names
// an unknown stage is the better message.
Expected<ReadModule> divisi::readModule(InputFile input, MLIRContext &context,
                                        ArrayRef<std::string> given,
                                        GlobalStore &store) {
  if (Status status = checkModuleText(input.content->getBuffer(), input.name);
      !status.isOk()) {
    return status;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input.content), llvm::SMLoc());
  ErrorCollector errors(&context);
  // Not verified until errors can say where.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  config.attachResourceParser(kResourceOwner, [&](AsmParsedResourceEntry &e) {
    return keepResource(e, store);
  });
  ReadModule read;
  read.module = parseModule(sources, config);
  if (!read.module) {
    return errors.failure(ExitCode::Invalid, input.name + ": is not a module");
  }
  Expected<Stage> stage = stageOf(*read.module, input.name);
  if (!stage) {
    return stage.status();
  }
  read.stage = *stage;
  if (!hasEntry(*read.module)) {
    return Status(ExitCode::Invalid,
                  input.name +
                      ": there is nothing to run: no function but @init");
  }
  Status status = checkSources(
      *read.module, [&](StringRef key) { return bytesOfResource(key, store); });
  if (!status.isOk()) {
    return status.in(input.name);
  }
  Expected<FileIdentities> identities = takeFiles(*read.module);
  if (!identities) {
    return identities.status().in(input.name);
  }
  DataFiles files(input.folder, given, std::move(*identities), store);
  status = resolveGlobals(*read.module, files, store).in(input.name);
  return status.isOk() ? Expected<ReadModule>(std::move(read)) : status;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string divisi::dumpName(StringRef input, Stage stage) {
  bool isName = !input.empty() && llvm::none_of(input, [](unsigned char c) {
    return c < ' ' || c == '\x7f';
  });
  StringRef stem = llvm::sys::path::stem(isName ? input : "stdin");
  // What was dumped before goes on under the model's name.
  if (isName && input.ends_with(".mlir") &&
      parseStage(llvm::sys::path::extension(stem).drop_front(
          stem.contains('.') ? 1 : 0))) {
    stem = llvm::sys::path::stem(stem);
  }
  return (stem + "." + stringifyStage(stage) + ".mlir").str();
}

/// `file` as a dump in `folder` names it.
static std::string nameFrom(const std::string &folder, StringRef file) {
  std::filesystem::path path = file.str();
  std::string name = path.is_absolute()
                         ? path.lexically_relative(folder).string()
                         : file.str();
  // Not to be taken for a resource.
  return StringRef(name).starts_with(kResource) ? "./" + name : name;
}

/// `{bytes = N, sha256 = "…"}`; empty for a file that is not there.
static DictionaryAttr describeFile(const std::optional<FileIdentity> &identity,
                                   Builder &builder) {
  if (!identity) {
    return builder.getDictionaryAttr({});
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("bytes",
                            builder.getI64IntegerAttr(identity->bytes)),
       builder.getNamedAttr("sha256",
                            builder.getStringAttr(identity->sha256))});
}

/// Names of globals as a text in `folder` has them. `resources` are the globals
/// whose bytes go with it.
static void nameGlobals(ModuleOp copy, GlobalStore &store,
                        const std::string &folder,
                        std::map<std::string, ByteRange> &resources) {
  Builder builder(copy.getContext());
  std::map<std::string, NamedAttribute> files;
  for (auto global : copy.getOps<nn::GlobalOp>()) {
    if (!global.getFile()) {
      continue;
    }
    std::string file = global.getFile()->str();
    if (store.bytesInMemory(file)) {
      std::string key = global.getSymName().str();
      resources[key] = {file, *global.getOffset(), *global.getLength()};
      global.setFile((kResource + key).str());
      global.setOffset(0);
      continue;
    }
    std::string name = nameFrom(folder, file);
    global.setFile(name);
    if (!files.contains(name)) {
      files.emplace(name,
                    builder.getNamedAttr(
                        name, describeFile(store.identify(file), builder)));
    }
  }
  if (!files.empty()) {
    copy->setAttr(kFilesAttr, builder.getDictionaryAttr(llvm::to_vector(
                                  llvm::make_second_range(files))));
  }
}

/// Notes of a partitioned module, whose globals are no longer to be edited,
/// where they lie.
static Status noteSources(ModuleOp text, const ResourceBytes &bytesOf) {
  auto name = text->getAttrOfType<StringAttr>(kStageAttr);
  std::optional<Stage> stage = parseStage(name ? name.getValue() : "");
  if (!stage || *stage < Stage::Partition) {
    return Status();
  }
  Expected<std::string> hash = hashOfSources(text, bytesOf);
  if (hash) {
    noteOnModule(text, kSourcesAttr, *hash);
  }
  return hash.status();
}

Expected<std::string> divisi::moduleText(ModuleOp module, GlobalStore &store,
                                         const std::string &path) {
  OwningOpRef<ModuleOp> copy = module.clone();
  std::map<std::string, ByteRange> resources;
  nameGlobals(*copy, store, folderOfNames(path), resources);
  copy->walk(
      [](Operation *op) { op->setLoc(nn::withoutPosition(op->getLoc())); });

  Status status = noteSources(*copy, [&](StringRef key) {
    return store.bytes(resources.at(key.str()));
  });

  AsmState state(*copy, OpPrintingFlags().enableDebugInfo());
  state.attachResourcePrinter(kResourceOwner, [&](Operation *,
                                                  AsmResourceBuilder &builder) {
    for (const auto &[key, range] : resources) {
      auto bytes = store.bytes(range);
      if (!bytes) {
        status = bytes.status();
        continue;
      }
      builder.buildBlob(key,
                        ArrayRef(reinterpret_cast<const char *>(bytes->data()),
                                 bytes->size()),
                        /*dataAlignment=*/64);
    }
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, state);
  // Behind resources, there is one.
  os << (StringRef(text).ends_with("\n") ? "" : "\n");
  return status.isOk() ? Expected<std::string>(std::move(text)) : status;
}

Expected<int64_t> divisi::writeModuleFile(ModuleOp module, GlobalStore &store,
                                          const std::string &path) {
  Expected<std::string> text = moduleText(module, store, path);
  if (!text) {
    return text.status();
  }
  Status status = writeFile(path, *text);
  return status.isOk() ? Expected<int64_t>(int64_t(text->size())) : status;
}

void divisi::moveNames(ModuleOp module, const std::string &from,
                       const std::string &to) {
  auto files = module->getAttrOfType<DictionaryAttr>(kFilesAttr);
  std::string source = folderOfNames(from), target = folderOfNames(to);
  if (!files || source == target) {
    return;
  }
  SmallVector<NamedAttribute> moved;
  Builder builder(module.getContext());
  for (NamedAttribute file : files) {
    std::string name = nameFrom(target, placeIn(source, file.getName().str()));
    moved.push_back(builder.getNamedAttr(name, file.getValue()));
    for (auto global : module.getOps<nn::GlobalOp>()) {
      if (global.getFile() == file.getName().getValue()) {
        global.setFile(name);
      }
    }
  }
  module->setAttr(kFilesAttr, builder.getDictionaryAttr(moved));
}
