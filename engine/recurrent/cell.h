// Cells of recurrent layers: LSTM (Hochreiter and Schmidhuber 1997) and GRU (Cho et al. 2014), as Keras computes them.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace nmt {

enum class CellKind { lstm, gru };

// The products of the inputs and of the state, for all gates at once. Gates stand in the order of the kernels: of an
// LSTM what enters, what is kept, what is new, what is shown; of a GRU what is kept, the reset, what is new.
struct Cell {
  CellKind kind = CellKind::lstm;
  Linear inputs, states;

  int units() const { return states.inputs; }
  int gates() const { return states.outputs; }
};

inline int gate_count(CellKind kind) { return kind == CellKind::lstm ? 4 : 3; }
// Vectors that a cell keeps: its output, and an LSTM another one behind it.
inline int state_count(CellKind kind) { return kind == CellKind::lstm ? 2 : 1; }

// The next state of a row. inputs, states: its products of the inputs and of the state.
inline void update(const Kernels& kernels, const Cell& cell, const float* inputs, const float* states, float* state) {
  if (cell.kind == CellKind::lstm)
    kernels.lstm(inputs, states, cell.units(), state + cell.units(), state);
  else
    kernels.gru(inputs, states, cell.units(), state);
}

}  // namespace nmt
