//===- Table.h - Vocabularies of the generator ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vocabulary (a world, on the command line) is a few tensors and the
// operators that are enumerated over them, each with the values of its
// attributes. Extents are small and alike, so that operators fit together in
// many ways; which of them have to be equal is found out later, for each
// equation.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_TABLE_H
#define DIVISI_LIB_GENERATE_TABLE_H

#include "divisi/Generate/Generate.h"
#include "divisi/Rules/Rule.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divisi::rewrite {

/// What of an operator depends on the extents of its operand.
enum class Extra : uint8_t {
  None,
  FirstPart,  ///< The slice before a cut of `axis`.
  SecondPart, ///< And that behind it.
  Merge,      ///< `axis` and the next one are one dim.
};

/// How an attribute refers to dims.
enum class DimReference : uint8_t {
  None,    ///< It is the same at all ranks.
  Axis,    ///< One dim.
  Axes,    ///< A list of them.
  PerDim,  ///< A number for each dim of the operand.
  Letters, ///< A letter for each dim of each operand.
};

/// An attribute, with numbers for dims.
struct TableAttribute {
  std::string name;                            ///< As the operator has it.
  DimReference reference = DimReference::None; ///< What its numbers refer to.
  Value value;                                 ///< Of None, and Letters.
  std::vector<int64_t> numbers;                ///< Of the others.
};

/// An operator with the values of its attributes.
struct TableOperator {
  std::string op;                         ///< `matmul`
  std::vector<size_t> ranks;              ///< Of its operands.
  std::vector<TableAttribute> attributes; ///< Those with values of their own.
  Extra extra = Extra::None;              ///< What else is fixed.
  size_t axis = 0;                        ///< Of `extra`.
};

/// An extent of a tensor of a vocabulary: a multiple of a letter, or a number.
struct LeafExtent {
  char letter = 0;    ///< 0: a number.
  int64_t factor = 1; ///< The number, or how often the letter.
};

/// Tensors of one form.
struct Leaf {
  std::vector<LeafExtent> dims;  ///< One for each dimension.
  size_t count = 1;              ///< How many different ones.
  std::optional<double> element; ///< They are all this.
};

/// Tensors, and operators on them.
struct Vocabulary {
  std::string name;                     ///< Unique among worlds.
  std::vector<Leaf> leaves;             ///< What graphs begin with.
  std::vector<TableOperator> operators; ///< What graphs are made of.
  size_t most = 3;                      ///< Operators of a graph.
};

/// All vocabularies, in the order in which they are tried.
std::vector<Vocabulary> allVocabularies();

/// Those that `options` choose, with no more operators than these say. Fails
/// with Usage for a name that no vocabulary has.
Expected<std::vector<Vocabulary>>
chooseVocabularies(const GenerateOptions &options);

/// Of an operand in the vocabulary.
size_t mostDimsOf(const Vocabulary &vocabulary);

/// What a letter is where graphs are enumerated.
int64_t extentOf(const LeafExtent &extent);

/// The node of `op`, with no name and no operands. `dims` has an item for each
/// dim of each operand: an extent, or a shape that stands for any number of
/// dims there. Parts are cut at `cut`. Nothing where a shape stands for what
/// has to be one dim.
std::optional<Node> nodeOf(const TableOperator &op,
                           const std::vector<Items> &dims,
                           const std::optional<Expr> &cut);

/// Those numbers as a list.
Items listOf(const std::vector<int64_t> &values);

/// The operator as a line of the printed table.
std::string print(const TableOperator &op);
/// A leaf as a line of it.
std::string print(const Leaf &leaf);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_TABLE_H
