//===- SpacePlacer.h - Where a program's instructions work ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_SPACEPLACER_H
#define DIVISI_PASSES_LOWER_SPACEPLACER_H

#include "passes/Lower/CallSites.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

#include <set>
#include <vector>

namespace divisi {

/// A collective of an entry, whichever programs take part in it.
using StepName = std::pair<llvm::StringRef, uint64_t>;

/// Of an entry, by input: whether it lies on the device.
using InputPlaces = llvm::SmallVector<bool>;
/// Of bodies. Inputs of other entries are with the host.
using BodyPlaces = llvm::StringMap<InputPlaces>;

/// How often runs copy a global that is updated from one space to another:
/// those of programs that read and update it, which are run most, and those of
/// others.
struct StateCopies {
  /// Of steps, and of others.
  using Count = std::pair<int64_t, int64_t>;
  Count withHost; ///< If it rests with the host, ...
  Count there;    ///< ... and if it rests on the device.
};

/// Places what one program computes.
class SpacePlacer {
public:
  /// Whether a call has a kernel on the device.
  using Takes = llvm::function_ref<bool(exec::CallOp, CallSites &)>;
  /// Whether ranks meet in the memory of devices for what a collective moves.
  using Reaches = llvm::function_ref<bool(exec::InstructionInterface)>;

  /// Of `program`, whose device has that memory space, in a module that updates
  /// the globals `updated`; `states` are those of them that rest on devices.
  /// `bodies` has those whose loops are in `program`.
  SpacePlacer(exec::ProgramOp program, llvm::StringRef space,
              const llvm::StringSet<> &updated, const llvm::StringSet<> &states,
              const BodyPlaces &bodies)
      : program_(program), space_(space), bodies_(bodies), states_(states),
        sites_(program, updated) {}

  /// Finds who writes what; failure after an error.
  llvm::LogicalResult index();
  /// Of a body with that many inputs: which of them it would have on the
  /// device.
  InputPlaces wantedInputs(size_t count, Takes takes, Reaches reaches);
  /// Lets the inputs of a body lie there, and what the next iteration gets.
  void setInputs(InputPlaces inputs) { inputs_ = std::move(inputs); }
  /// Lets the calls that `takes` work on the device, and with them what only
  /// moves bytes; of collectives those for which `reaches` holds, and of these
  /// such as only bring something where others `send` it from the device. Once
  /// more, it forgets what it has chosen before.
  void choose(Takes takes, Reaches reaches, const std::set<StepName> &sent);
  /// A collective of the program.
  struct Step {
    StepName name;   ///< For all programs.
    bool isThere;    ///< Whether it is on the device, ...
    bool onlyBrings; ///< ... and brings something from others alone.
  };
  /// All, in the order of the list.
  std::vector<Step> steps() const;
  /// Adds what a run copies of each global that is updated, by its name, where
  /// choose() has put what reads and makes it.
  void countStates(Takes takes, Reaches reaches,
                   llvm::StringMap<StateCopies> &counts);
  /// Lets buffers lie where they are written, and copies them.
  void place();

  /// Whose they are.
  exec::ProgramOp program() const { return program_; }

  /// Known after place().
  int64_t numOnDevice = 0, numCopies = 0, copiedBytes = 0;
  /// Calls by operator, and collectives of what is made on the device by kind.
  llvm::MapVector<llvm::StringRef, int64_t> onHost, metOnHost;

private:
  void chooseCalls(Takes takes);
  bool mayMove(exec::InstructionInterface op, Takes takes, Reaches reaches);
  bool isWanted(mlir::Value buffer, Takes takes, Reaches reaches);
  bool isWantedByHost(mlir::Value buffer) const;
  bool isState(mlir::Value root) const;
  mlir::Value madeFrom(mlir::Value buffer, Reaches reaches) const;
  bool isInputOnDevice(uint64_t input) const;
  bool isOnDevice(mlir::OpOperand &operand) const;
  bool liesOnDevice(mlir::Value root) const;
  /// Whether what `op` moves is in every space.
  bool isAtHand(exec::InstructionInterface op) const;
  bool movesOnDevice(exec::InstructionInterface op) const;
  bool isReadOnDevice(mlir::Value buffer) const;
  void count();
  void setSpaces();
  bool isCopiedPart(mlir::Value buffer) const;
  mlir::Value elsewhere(mlir::Value buffer, mlir::Operation *reader);
  mlir::Value copy(mlir::Value buffer, exec::BufferType type,
                   mlir::Operation *reader);
  void numberOperations();
  bool isBefore(mlir::Operation *a, mlir::Operation *b) const;
  void startCopy(mlir::OpBuilder &builder, mlir::Value buffer,
                 mlir::Operation *reader);
  void eraseUnread();

  exec::ProgramOp program_;
  llvm::StringRef space_;
  const BodyPlaces &bodies_;
  const llvm::StringSet<> &states_; ///< Globals that rest on the device.
  CallSites sites_;
  InputPlaces inputs_; ///< Of a body.
  llvm::SmallVector<exec::InstructionInterface> instructions_;
  llvm::DenseMap<mlir::Value, mlir::Operation *> writerOf_;
  llvm::SmallPtrSet<mlir::Operation *, 16> onDevice_;
  /// Where operations stand, as even numbers; odd: moved to before the next.
  llvm::DenseMap<mlir::Operation *, int64_t> numberOf_;
  /// Of what is read in two spaces, the one in which nobody writes it.
  llvm::DenseMap<mlir::Value, mlir::Value> elsewhere_;
  mlir::Operation *previous_ =
      nullptr; ///< On the device, before the present reader.
};

/// Whether `call` only moves bytes, or reads nothing: it goes where these are,
/// or are wanted.
bool isMover(exec::CallOp call);

/// What the entry of the program of `op` calls it, a collective.
StepName stepNameOf(exec::InstructionInterface op);

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_SPACEPLACER_H
