// What recurrent models with additive attention share: a layer of gated units in both directions that reads the source, the
// attention over it, and the state in which the decoder begins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/piece_products.h"

namespace nmt {

// A gated recurrent unit (Kernels::gru). Products have [3][units] outputs: of what is kept, of the reset, what is new.
struct GatedUnit {
  Linear inputs;                    // no outputs in a transition, a cell that nothing but the state enters
  Linear states;
  const float* constant = nullptr;  // of a transition: [3][units], what stands in place of the inputs' product
};

// The cells of a step, one behind the other.
using Transitions = std::vector<GatedUnit>;

// Additive attention (Bahdanau et al. 2015) over contexts of 2 x units, the states of both directions.
struct AdditiveAttention {
  Linear queries, keys;                // of the same width
  const float* combination = nullptr;  // the weight of each channel in a score
};

class AttendingModel : public Model {
 public:
  int units = 0, embedding_units = 0;
  Transitions forward, backward;  // of the encoder
  std::unique_ptr<PieceProducts> forward_products, backward_products;
  AdditiveAttention attention;
  Linear start;                   // the decoder's first state, of the mean of the encoder's contexts, before tanh

 protected:
  // Reads the units, but none of the layers.
  explicit AttendingModel(std::unique_ptr<SafeTensors> file);
  void read_encoder(int transitions);
  void read_attention(int attention_units);
  // Reads embeddings and output layer, which is the last to do.
  void read_pieces();
  // entering: how many inputs the first cells have; the others are transitions.
  Transitions transitions(const std::string& name, int count, const std::vector<int>& entering);
  std::vector<Linear*> linears() override;
};

// The products of these cells.
void add_linears(Transitions& cells, std::vector<Linear*>& to);

}  // namespace nmt
