//===- Manifest.cpp - Programs as messages of the artifact's schema -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "OperatorTable.h"

#include "EntryOrder.h"
#include "dialects/Exec/NewInputs.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Support/Version.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Builds the draft of one module; the first failure stops it.
class ManifestBuilder {
public:
  explicit ManifestBuilder(ModuleOp module)
      : module_(module), operators_(draft_.manifest) {}

  Expected<ManifestDraft> run();

private:
  void addGrid(spmd::GridOp grid);
  void addGlobal(nn::GlobalOp global);
  void addEntry(EntryOp entry);
  void addProgram(ProgramOp program);
  void addBuffer(Operation &op, artifact::Program &program);
  void addInstruction(InstructionInterface op, artifact::Program &program);
  void addCall(CallOp op, artifact::Call &call);
  void addLoop(LoopOp op, artifact::Loop &loop);
  uint32_t operatorOf(CallOp op);
  uint32_t queueOf(InstructionInterface op);
  uint32_t globalOf(Operation *op, StringRef name);
  uint32_t spaceOf(StringRef name);

  uint32_t tensorOf(RankedTensorType type, FlatSymbolRefAttr grid);
  uint32_t tensorOf(BufferType type) {
    return tensorOf(type.getTensor(), type.getGrid());
  }
  uint32_t bufferOf(Value value) { return buffers_.lookup(value); }
  void fail(Operation *op, const Twine &what);

  ModuleOp module_;
  ManifestDraft draft_;
  Status status_;
  llvm::StringMap<uint32_t> grids_, globals_, entries_, communicators_, spaces_,
      codes_;
  OperatorTable operators_;
  llvm::DenseMap<std::pair<Type, Attribute>, uint32_t> tensors_;
  llvm::DenseMap<Value, uint32_t> buffers_; ///< Of the current program.
  llvm::DenseMap<Value, uint32_t> tokens_;  ///< Whose: its instructions.
};

} // namespace

void ManifestBuilder::fail(Operation *op, const Twine &what) {
  if (status_.isOk()) {
    status_ = Status(ExitCode::Invalid,
                     (op->getName().getStringRef() + ": " + what).str());
  }
}

static void setLayout(const spmd::LocalAttr &local, artifact::Layout &message) {
  const Layout &layout = local.getLayout();
  for (auto [index, dim] : llvm::enumerate(layout.dims)) {
    artifact::DimLayout *out = message.add_dims();
    for (AxisId axis : dim.axes) {
      out->add_axes(axis.index);
    }
    if (dim.axes.empty() && dim.bounds.empty()) {
      continue;
    }
    // The runtime knows no default bounds: all are said.
    for (Interval shard :
         layout.shards(local.getGrid(), index, local.getGlobalShape()[index])) {
      out->add_bounds(shard.begin);
      out->add_bounds(shard.end);
    }
  }
  for (AxisId axis : layout.partialAxes) {
    message.add_partial_axes(axis.index);
  }
  if (layout.isPartial()) {
    message.set_partial_kind(stringifyReduceKind(layout.partialKind).str());
  }
}

/// The number of the tensor, which is added when it occurs first.
uint32_t ManifestBuilder::tensorOf(RankedTensorType type,
                                   FlatSymbolRefAttr grid) {
  auto [known, isNew] =
      tensors_.try_emplace({type, grid}, draft_.manifest.tensors_size());
  if (!isNew) {
    return known->second;
  }
  artifact::Tensor &tensor = *draft_.manifest.add_tensors();
  std::optional<rt::DType> element = fromMLIRType(type.getElementType());
  spmd::LocalAttr local = spmd::getLocal(type);
  auto found = grids_.find(grid.getValue());
  if (!element || !local || found == grids_.end()) {
    fail(module_,
         "no layout, grid or element type for a tensor on " + grid.getValue());
    return known->second;
  }
  tensor.set_dtype(std::string(rt::stringify(*element)));
  for (int64_t extent : local.getGlobalShape()) {
    tensor.add_dims(extent);
  }
  tensor.set_grid(found->second);
  setLayout(local, *tensor.mutable_layout());
  return known->second;
}

void ManifestBuilder::addGrid(spmd::GridOp grid) {
  grids_[grid.getSymName()] = draft_.manifest.grids_size();
  artifact::Grid *message = draft_.manifest.add_grids();
  message->set_name(grid.getSymName().str());
  Grid value = grid.getValue();
  for (const GridAxis &axis : value.axes()) {
    artifact::Axis *out = message->add_axes();
    out->set_name(axis.name);
    out->set_size(axis.size);
  }
  for (int64_t device : grid.getDeviceIds()) {
    message->add_devices(device);
    draft_.manifest.set_num_ranks(
        std::max<uint32_t>(draft_.manifest.num_ranks(), device + 1));
  }
}

void ManifestBuilder::addGlobal(nn::GlobalOp global) {
  spmd::PlaceAttr place = spmd::getPlace(global);
  spmd::GridOp grid =
      place ? spmd::lookupGrid(global, place.getGrid()) : nullptr;
  if (!grid) {
    // Only @init reads it: nothing of it is there at run time.
    return;
  }
  FailureOr<Layout> layout =
      spmd::resolvePlace(place, grid.getValue(), global.getType().getShape(),
                         [&] { return global.emitError(); });
  if (failed(layout)) {
    return fail(global, "the place of @" + global.getSymName() + " is illegal");
  }
  globals_[global.getSymName()] = draft_.manifest.globals_size();
  artifact::Global *message = draft_.manifest.add_globals();
  message->set_name(global.getSymName().str());
  message->set_kind(nn::stringifyGlobalKind(global.getKind()).str());
  message->set_tensor(
      tensorOf(spmd::localType(global.getType(), grid.getValue(), *layout),
               place.getGrid()));
}

/// Inputs and outputs in the order of the signature, each with its whole type.
void ManifestBuilder::addEntry(EntryOp entry) {
  entries_[entry.getSymName()] = draft_.manifest.entries_size();
  artifact::Entry *message = draft_.manifest.add_entries();
  message->set_name(entry.getSymName().str());
  auto addValues = [&](ArrayAttr names, ArrayAttr types, auto add) {
    for (auto [name, type] :
         llvm::zip_equal(names.getAsRange<StringAttr>(),
                         types.getAsValueRange<TypeAttr>())) {
      artifact::Value *value = add();
      value->set_name(llvm::json::fixUTF8(name));
      value->set_tensor(tensorOf(cast<BufferType>(type)));
    }
  };
  addValues(entry.getInputNames(), entry.getInputTypes(),
            [&] { return message->add_inputs(); });
  addValues(entry.getOutputNames(), entry.getOutputTypes(),
            [&] { return message->add_outputs(); });
  noteKind(entry, *message);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Makes the result of `op` a buffer of `program`, which lies where it says.
void ManifestBuilder::addBuffer(Operation &op, artifact::Program &program) {
  auto type = cast<BufferType>(op.getResult(0).getType());
  std::optional<int64_t> bytes = op.getParentOfType<ProgramOp>().bytesOf(type);
  if (!bytes) {
    return fail(&op, "the buffer has too many bytes");
  }
  buffers_[op.getResult(0)] = program.buffers_size();
  artifact::Buffer *buffer = program.add_buffers();
  buffer->set_tensor(tensorOf(type));
  buffer->set_bytes(*bytes);
  buffer->set_format(type.getFormat().str());
  if (auto view = dyn_cast<ViewOp>(op)) { // which lies where its source does
    buffer->set_view_offset(int64_t(view.getOffset().value_or(0)));
    return buffer->set_view(bufferOf(view.getSource()));
  }
  buffer->set_space(spaceOf(type.getSpace()));
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](InputOp input) {
        isNewValue(input) ? buffer->set_new_input(input.getIndex())
                          : buffer->set_input(input.getIndex());
      })
      .Case([&](GlobalOp global) {
        buffer->set_global(globalOf(global, global.getGlobal()));
      })
      .Case([&](NewGlobalOp global) {
        buffer->set_new_global(globalOf(global, global.getGlobal()));
      })
      .Case([&](AllocOp alloc) {
        buffer->set_arena_offset(alloc.getOffset().value_or(0));
      })
      .Case([&](ConstantOp constant) {
        buffer->set_global(draft_.numGlobals + draft_.constants.size());
        artifact::Global *global = draft_.manifest.add_globals();
        global->set_name(("constant" + Twine(draft_.constants.size())).str());
        global->set_kind("constant");
        global->set_tensor(buffer->tensor());
        draft_.constants.push_back(constant.getValue());
      });
}

/// The number of the global that `op` names.
uint32_t ManifestBuilder::globalOf(Operation *op, StringRef name) {
  auto found = globals_.find(name);
  if (found == globals_.end()) {
    fail(op, "no global @" + name);
    return 0;
  }
  return found->second;
}

/// The number of the memory space, which is added when it occurs first.
uint32_t ManifestBuilder::spaceOf(StringRef name) {
  if (name.empty()) {
    return 0;
  }
  auto [it, isNew] =
      spaces_.try_emplace(name, draft_.manifest.spaces_size() + 1);
  if (isNew) {
    draft_.manifest.add_spaces(name.str());
  }
  return it->second;
}

/// Of a fused call all is on one grid.
uint32_t ManifestBuilder::operatorOf(CallOp op) {
  if (!op.isFused()) {
    return operators_.add(op.getCallee(), op.getConfig());
  }
  auto output = cast<BufferType>(op.getOutputs().front().getType());
  return operators_.add(op.getBody().front(), [&](Type type) {
    return tensorOf(cast<RankedTensorType>(type), output.getGrid());
  });
}

void ManifestBuilder::addCall(CallOp op, artifact::Call &call) {
  call.set_op(operatorOf(op));
  for (Value input : op.getInputs()) {
    call.add_operands(bufferOf(input));
  }
  for (Value output : op.getOutputs()) {
    call.add_results(bufferOf(output));
  }
  call.set_workspace_offset(op.getWorkspaceOffset().value_or(-1));
  call.set_workspace_bytes(op.getWorkspace().value_or(0));
  if (op.getCode()) {
    call.set_code(codes_.lookup(*op.getCode()));
  }
  if (op.getFallback()) {
    call.set_fallback(codes_.lookup(*op.getFallback()));
  }
  call.set_space(spaceOf(op.getSpace()));
  ArrayRef<int64_t> pairs = op.getOver().value_or(ArrayRef<int64_t>());
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    artifact::InPlace *pair = call.add_in_place();
    pair->set_operand(pairs[i]);
    pair->set_result(pairs[i + 1]);
  }
}

void ManifestBuilder::addLoop(LoopOp op, artifact::Loop &loop) {
  loop.set_body(entries_.lookup(op.getBody()));
  loop.set_most(int64_t(op.getMax()));
  loop.set_count(bufferOf(op.getCount()));
  auto add = [&](ValueRange buffers, auto add) {
    for (Value buffer : buffers) {
      add(bufferOf(buffer));
    }
  };
  add(op.getCarried(), [&](uint32_t buffer) { loop.add_carried(buffer); });
  add(op.getGiven(), [&](uint32_t buffer) { loop.add_given(buffer); });
  add(op.getOutputs(), [&](uint32_t buffer) { loop.add_results(buffer); });
  add(op.getSpares(), [&](uint32_t buffer) { loop.add_spares(buffer); });
  if (op.getArena()) {
    loop.set_arena(bufferOf(op.getArena()));
  }
  if (op.getDeviceArena()) {
    loop.set_device_arena(bufferOf(op.getDeviceArena()));
  }
}

/// One message per operation that does something; buffers were added before.
void ManifestBuilder::addInstruction(InstructionInterface op,
                                     artifact::Program &program) {
  if (Value done = op.getDone()) {
    tokens_[done] = program.instructions_size();
  }
  artifact::Instruction *instruction = program.add_instructions();
  instruction->set_queue(queueOf(op));
  for (Value token : op.getAfter()) {
    instruction->add_after(tokens_.lookup(token));
  }
  // ONNX does not promise UTF-8, and proto3 wants it.
  instruction->set_location(llvm::json::fixUTF8(nn::nodeName(op.getLoc())));
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](CallOp call) { addCall(call, *instruction->mutable_call()); })
      .Case([&](CollectiveOp collective) {
        artifact::Collective *message = instruction->mutable_collective();
        spmd::LocalAttr local =
            spmd::getLocal(collective.getSource().getType().getTensor());
        for (StringRef axis :
             collective.getAxes().getAsValueRange<StringAttr>()) {
          message->add_axes(local.getGrid().find(axis)->index);
        }
        message->set_kind(collective.getKind().str());
        message->set_source(bufferOf(collective.getSource()));
        message->set_result(bufferOf(collective.getTarget()));
        message->set_tag(collective.getTag());
      })
      .Case([&](TransferOp transfer) {
        artifact::Transfer *message = instruction->mutable_transfer();
        if (transfer.getSource()) {
          message->set_source(bufferOf(transfer.getSource()));
        }
        if (transfer.getTarget()) {
          message->set_result(bufferOf(transfer.getTarget()));
        }
        message->set_from(tensorOf(cast<BufferType>(transfer.getFrom())));
        message->set_to(tensorOf(cast<BufferType>(transfer.getTo())));
        message->set_tag(transfer.getTag());
      })
      .Case([&](OutputOp output) {
        instruction->mutable_output()->set_source(bufferOf(output.getSource()));
        instruction->mutable_output()->set_output(output.getIndex());
      })
      .Case([&](CopyOp copy) {
        instruction->mutable_copy()->set_source(bufferOf(copy.getSource()));
        instruction->mutable_copy()->set_result(bufferOf(copy.getTarget()));
      })
      .Case([&](LoopOp loop) { addLoop(loop, *instruction->mutable_loop()); })
      .Case([&](CommitOp) { instruction->mutable_commit(); });
}

/// The number of the queue, as instructions have it.
uint32_t ManifestBuilder::queueOf(InstructionInterface op) {
  std::string name = op.queueName();
  std::optional<Meeting> meeting = op.getMeeting();
  if (!meeting) {
    return name == kCopyQueue ? 1 : 0;
  }
  artifact::Communicator wanted;
  wanted.set_name(name);
  wanted.set_grid(grids_.lookup(meeting->grid.getValue()));
  for (AxisId axis : meeting->axes) {
    wanted.add_axes(axis.index);
  }
  if (meeting->target) {
    wanted.set_target(grids_.lookup(meeting->target.getValue()));
  }
  auto [it, isNew] =
      communicators_.try_emplace(name, draft_.manifest.communicators_size());
  if (isNew) {
    *draft_.manifest.add_communicators() = wanted;
  } else if (draft_.manifest.communicators(it->second).SerializeAsString() !=
             wanted.SerializeAsString()) {
    fail(op, "the queue '" + name + "' is that of another communicator");
  }
  // Compute and copy come before.
  return 2 + it->second;
}

void ManifestBuilder::addProgram(ProgramOp op) {
  auto entry = entries_.find(op.getEntry());
  if (entry == entries_.end()) {
    return fail(op, "no entry @" + op.getEntry());
  }
  buffers_.clear();
  tokens_.clear();
  artifact::Program *program =
      draft_.manifest.mutable_entries(entry->second)->add_programs();
  for (int64_t rank : op.getRanks()) {
    program->add_ranks(rank);
  }
  program->set_arena_bytes(op.getArenaBytes());
  for (NamedAttribute arena : op.deviceArenas()) {
    auto space = int(spaceOf(arena.getName()));
    auto &bytes = *program->mutable_device_arena_bytes();
    bytes.Resize(std::max(bytes.size(), space), 0);
    bytes.Set(space - 1, op.arenaBytesIn(arena.getName()));
  }
  for (Operation &inner : op.getBody().front()) {
    if (auto instruction = dyn_cast<InstructionInterface>(inner)) {
      addInstruction(instruction, *program);
    } else {
      addBuffer(inner, *program);
    }
  }
}

Expected<ManifestDraft> ManifestBuilder::run() {
  draft_.manifest.set_producer("divisi " + std::string(version()));
  for (auto grid : module_.getOps<spmd::GridOp>()) {
    addGrid(grid);
  }
  llvm::for_each(module_.getOps<nn::GlobalOp>(),
                 [&](nn::GlobalOp global) { addGlobal(global); });
  draft_.numGlobals = draft_.manifest.globals_size();
  for (auto code : module_.getOps<CodeOp>()) {
    codes_[code.getSymName()] = draft_.manifest.codes_size();
    draft_.manifest.add_codes()->set_target(code.getTarget().str());
    StringRef bytes = code.getBytes();
    draft_.codes.push_back(
        std::as_bytes(std::span(bytes.data(), bytes.size())));
  }
  for (EntryOp entry : entriesInOrder(module_)) {
    addEntry(entry);
  }
  for (auto program : module_.getOps<ProgramOp>()) {
    addProgram(program);
  }
  return status_.isOk() ? Expected<ManifestDraft>(std::move(draft_)) : status_;
}

Expected<ManifestDraft> divisi::draftManifest(ModuleOp module) {
  return ManifestBuilder(module).run();
}
