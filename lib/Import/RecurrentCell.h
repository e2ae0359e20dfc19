//===- RecurrentCell.h - One step of a recurrent layer ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_RECURRENTCELL_H
#define DIVISI_LIB_IMPORT_RECURRENTCELL_H

#include "NodeImporter.h"

namespace divisi {

/// An activation with its constants.
struct Activation {
  std::string name;           ///< In lower case.
  double alpha = 0, beta = 0; ///< 0 where it takes none.
};

/// What the directions of a layer have in common.
struct RecurrentLayer {
  int64_t gates = 1; ///< 1 RNN, 3 GRU, 4 LSTM
  /// Of x, and of the hidden state; 1 or 2 directions.
  int64_t steps = 0, batch = 0, hidden = 0, directions = 1;
  Tensor x;                            ///< [steps, batch, input]
  Tensor lengths;                      ///< [batch] i64, or null: all are whole.
  std::vector<Activation> activations; ///< Of each direction in turn.
  double clip = 0;                     ///< Of what is activated; 0: none.
};

/// The weights of one direction; null for what is left out.
struct RecurrentWeights {
  Tensor r;              ///< [gates * hidden, hidden]
  Tensor recurrenceBias; ///< [gates, hidden], what x·W has not got yet
  Tensor peepholes;      ///< [3, hidden]: i, o, f
  llvm::ArrayRef<Activation> activations; ///< Of this direction.
};

/// What goes from step to step, each [batch, hidden].
struct RecurrentState {
  Tensor h; ///< What the layer shows.
  Tensor c; ///< The cell of an LSTM, else null.
};

/// The activation called `name`, in whatever case, with the constants that it
/// has unless a node says others.
std::optional<Activation> findActivation(std::string name);
/// f(x), of `x` clipped to [-clip, clip] if `clip` is not 0.
Tensor activate(Emitter &emit, const Activation &f, Tensor x, double clip);

/// Those that the node names, else `names`; fails unless they are `count`.
std::vector<Activation> readActivations(NodeImporter &node,
                                        std::vector<std::string> names,
                                        size_t count);

/// The state after `before`, given what does not depend on it: `gates` [batch,
/// gates, hidden].
RecurrentState recurrentStep(NodeImporter &node, const RecurrentLayer &layer,
                             const RecurrentWeights &weights,
                             const Tensor &gates, const RecurrentState &before);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_RECURRENTCELL_H
