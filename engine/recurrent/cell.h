// Cells of recurrent layers: LSTM (Hochreiter and Schmidhuber 1997) and GRU (Cho et al. 2014), as Keras computes them.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace nmt {

enum class CellKind { lstm, gru };

// Weights for the products of input and state, all gates at once, in the order of the kernels. LSTM: input gate, forget
// gate, candidate, output gate; GRU: update gate, reset gate, candidate.
struct Cell {
  CellKind kind = CellKind::lstm;
  Linear inputs, states;

  int units() const { return states.inputs; }
  int gates() const { return states.outputs; }
};

inline int gate_count(CellKind kind) { return kind == CellKind::lstm ? 4 : 3; }
// Vectors of a state: the output, and for an LSTM the cell.
inline int state_count(CellKind kind) { return kind == CellKind::lstm ? 2 : 1; }

// Computes a row's next state. inputs, states: its products of input and state.
inline void update(const Kernels& kernels, const Cell& cell, const float* inputs, const float* states, float* state) {
  if (cell.kind == CellKind::lstm)
    kernels.lstm(inputs, states, cell.units(), state + cell.units(), state);
  else
    kernels.gru(inputs, states, cell.units(), state);
}

}  // namespace nmt
