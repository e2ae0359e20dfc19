//===- ExecOpBase.td - Classes of exec operations ----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECOPBASE_TD
#define DIVISI_DIALECTS_EXEC_EXECOPBASE_TD

include "dialects/Exec/ExecInterfaces.td"
include "dialects/Exec/ExecTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"

class Exec_BufferOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits> {
  let results = (outs Exec_PlainBuffer:$buffer);
}

class Exec_InstructionOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [DeclareOpInterfaceMethods<
        Exec_InstructionInterface, ["getMeeting", "getReads", "getWrites"]>]> {
  dag order = (ins OptionalAttr<StrAttr>:$queue,
      Variadic<Exec_TokenType>:$after);
  let results = (outs Optional<Exec_TokenType>:$done);
}

#endif // DIVISI_DIALECTS_EXEC_EXECOPBASE_TD
