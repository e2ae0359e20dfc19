//===- Passes.td - Substitution rules on nn ----------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_REWRITE_PASSES_TD
#define DIVISI_PASSES_REWRITE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyRules : Pass<"apply-rules", "::mlir::ModuleOp"> {
  let summary = "apply proved substitution rules where they reduce cost";
  let description = [{
    Precondition: `nn` operators on whole tensors.

    Effect: the target of a rule replaces its source where the source matches,
    its conditions hold, its inner results have no other users, and the target
    costs less in work done in every run. Less means: fewer operations of
    contractions, then fewer contractions, then fewer operators, then results of
    fewer elements; if all these are equal, fewer operators including those
    computed once. The rules are the proved ones of rules/, at the ranks at
    which they are proved; `divisi prove` gives the proof of each.

    Postcondition: the values are equal, up to the numeric class of the rules.
    No rule of `names` can be applied any more.

    ```mlir
    %1 = nn.matmul %x, %v {labels = "mk,kn->mn"}
    %2 = nn.matmul %x, %w {labels = "mk,kn->mn"}
    // becomes, by merge-matmuls-of-one-input
    %3 = nn.concat %v, %w {axis = 1}
    %4 = nn.matmul %x, %3 {labels = "mk,kn->mn"}
    %1 = nn.slice %4 …
    %2 = nn.slice %4 …
    ```

    Import applies the rules that recognise exported forms (norms, activations),
    and some that fold; `always` stands for these.

    Each application of a rule is a remark, and each that failed, with the
    reason (`--remarks-filter=apply-rules`).
  }];
  let options = [
    ListOption<"names", "names", "std::string",
               "the rules, in the order in which they are tried (default: all "
               "by which something can take less)">,
    Option<"always", "always", "bool", "false",
           "instead those rules that say to be applied in every compilation">
  ];
  let statistics = [
    Statistic<"applied", "applied", "rules applied">
  ];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def HoistInit : Pass<"nn-hoist-init", "::mlir::ModuleOp"> {
  let summary = "compute once what depends on parameters and constants alone";
  let description = [{
    Precondition: values are global.

    Effect: operators whose operands all come from parameters, constants or such
    operators move from the entry functions to `@init`, unless an entry updates
    the parameter. Results that the entries still need become derived globals.
    An operator that an entry needs and whose result has more elements than what
    it is made of stays: repeating is cheaper than storing.

    Postcondition: no operator in an entry depends on parameters and constants
    alone, except reads, constants and operators that grow their operands.

    ```mlir
    %w = nn.read @w : tensor<4x8xf32>
    %t = nn.mul %w, %s : …
    // becomes
    nn.global @w.derived derived : tensor<4x8xf32>
    %t = nn.read @w.derived : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect",
                           "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Operators moved to @init">];
}

def SearchRules : Pass<"search-rules", "::mlir::ModuleOp"> {
  let summary = "search for the cheapest program that proved rules reach";
  let description = [{
    Precondition: as of `apply-rules`.

    Effect: each entry is replaced by the cheapest program that was found by
    applying the proved rules of rules/ at any place, in any order, also where a
    step alone takes more. Programs are priced as the planner prices them on one
    device of `cluster`, with fused operators fused; what weights and constants
    alone make costs nothing. A large entry is searched in parts; those that are
    alike once. A part that would save less than half a percent stays as it is.

    Postcondition: the values are equal, up to `class`. The price of no entry
    has become higher. Equal input and options give equal output.

    Locations of operators that rules have made name these, in the order in
    which they were applied. Remarks (`--remarks-filter=search-rules`) say the
    same, and name each rule that led to the program, and how often.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"cpu:1\"",
           "the machine whose first kind of devices is priced">,
    Option<"programs", "programs", "int64_t", "20000",
           "how many programs are made, at most">,
    Option<"numericClass", "class", "std::string", "\"reassociates\"",
           "how rules may change numbers: bit-exact or reassociates">
  ];
  let statistics = [
    Statistic<"made", "programs", "programs made">,
    Statistic<"applied", "applied", "rules applied">
  ];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def DrawRules : Pass<"draw-rules", "::mlir::ModuleOp"> {
  let summary = "apply proved rules at random places";
  let description = [{
    Precondition: as of `apply-rules`.

    Effect: `steps` times, one of all places where a rule may be applied is
    drawn by `seed`, whatever it costs, and the rule is applied there. What a
    search could visit is thereby made, for comparing predicted times with
    measured ones (bench/substitutions).

    Postcondition: the values are equal, up to `class`. Equal input and options
    give equal output.
  }];
  let options = [
    Option<"seed", "seed", "uint64_t", "0", "of the random numbers">,
    Option<"steps", "steps", "int64_t", "8", "how many rules are applied">,
    Option<"numericClass", "class", "std::string", "\"reassociates\"",
           "how rules may change numbers: bit-exact or reassociates">
  ];
  let statistics = [Statistic<"applied", "applied", "rules applied">];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

#endif // DIVISI_PASSES_REWRITE_PASSES_TD
