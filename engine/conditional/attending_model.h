// Weights shared by recurrent models with additive attention: a bidirectional encoder of one layer of gated units, the
// attention, and the projection to the decoder's initial state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/piece_products.h"

namespace nmt {

// A gated recurrent unit (Kernels::gru). Products have [3][units] outputs: update gate, reset gate, candidate.
struct GatedUnit {
  Linear inputs;  // without outputs in a transition, a cell whose only input is the state
  Linear states;
  const float* constant = nullptr;  // replaces the inputs' product in a transition, [3][units]
};

// The cells of a step, applied one after the other.
using Transitions = std::vector<GatedUnit>;

// Additive attention (Bahdanau et al. 2015) over contexts of 2 x units: the states of both directions.
struct AdditiveAttention {
  Linear queries, keys;                // equally wide
  const float* combination = nullptr;  // weight of each channel in a score
};

class AttendingModel : public Model {
 public:
  int units = 0, embedding_units = 0;
  Transitions forward, backward;  // the encoder's directions
  std::unique_ptr<PieceProducts> forward_products, backward_products;
  AdditiveAttention attention;
  Linear start;  // from the mean of the contexts to the decoder's initial state, before tanh

 protected:
  // Reads the units, but no layer.
  explicit AttendingModel(std::unique_ptr<SafeTensors> file);
  void read_encoder(int transitions);
  void read_attention(int attention_units);
  // Reads embeddings and output layer; call it last.
  void read_pieces();
  // entering: input widths of the first cells; the remaining cells are transitions.
  Transitions transitions(const std::string& name, int count, const std::vector<int>& entering);
  std::vector<Linear*> linears() override;
};

// All products of these cells.
void add_linears(Transitions& cells, std::vector<Linear*>& to);

}  // namespace nmt
