//===- ExecInterfaces.td - What instructions share ---------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECINTERFACES_TD
#define DIVISI_DIALECTS_EXEC_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

def Exec_InstructionInterface : OpInterface<"InstructionInterface"> {
  let cppNamespace = "::divisi::exec";
  let description = [{
    When does this instruction run, and which bytes does it touch? It begins
    when all before it on its queue have ended, and all whose tokens it takes
    (`after`). Nothing else orders two instructions of a program.

    The queues are `compute`, `copy`, and one per communicator, which is who
    meets in a collective: the positions of a grid that differ in some axes, or
    the ranks of two grids. Without `on` an instruction is on `compute` or, if
    it meets other ranks, on the queue of the communicator of just these, which
    is named by grid and axes: `g.x`, `g->h`.

    **Constraints**
    - (Q1) What meets other ranks is on the queue of a communicator, a call or
      commit on `compute`, all else on `compute` or `copy`.
  }];
  let methods = [
    InterfaceMethod<"The name of the queue, if it is not the default.",
      "::mlir::StringAttr", "getQueueAttr">,
    InterfaceMethod<"Tokens of what it comes after.",
      "::mlir::OperandRange", "getAfter">,
    InterfaceMethod<"The same, to be changed.",
      "::mlir::MutableOperandRange", "getAfterMutable">,
    InterfaceMethod<"Its own token; null if nobody asks for it.",
      "::mlir::TypedValue<::divisi::exec::TokenType>", "getDone">,
    InterfaceMethod<[{
        Who meets in it; nothing if it needs no other rank, or all (a commit).}],
      "::std::optional<::divisi::exec::Meeting>", "getMeeting">,
    InterfaceMethod<[{
        The buffers that it reads while it runs. Not what an update takes: it is
        read when the program has ended.}],
      "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<"The buffers that it writes.",
      "::llvm::SmallVector<::mlir::Value>", "getWrites">,
  ];
  let extraSharedClassDeclaration = [{
    /// The name of its queue.
    std::string queueName() {
      return ::divisi::exec::queueName($_op);
    }
  }];
  let verify = [{
    return ::divisi::exec::verifyQueue($_op);
  }];
}

#endif // DIVISI_DIALECTS_EXEC_EXECINTERFACES_TD
