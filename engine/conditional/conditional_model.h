// A recurrent encoder in both directions, and a recurrent decoder whose second cell sees what the source has to say to the
// state behind the first one: Nematus' conditional GRU with attention (Sennrich et al. 2017), with any number of cells a
// step (deep transitions; Sennrich et al. 2017, "The University of Edinburgh's Neural MT Systems for WMT17").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"

namespace nmt {

// A gated recurrent unit (Kernels::gru). Products have [3][units] outputs: of what is kept, of the reset, what is new.
struct GatedUnit {
  Linear inputs;                    // no outputs in a transition, a cell that nothing but the state enters
  Linear states;
  const float* constant = nullptr;  // of a transition: [3][units], what stands in place of the inputs' product
};

// The cells of a step, one behind the other.
using Transitions = std::vector<GatedUnit>;

// Additive attention (Bahdanau et al. 2015); keys and queries have 2 x units channels, as contexts of the encoder do.
struct AdditiveAttention {
  Linear queries, keys;
  const float* combination = nullptr;  // [2 x units]: the weight of each channel in a score
};

class ConditionalModel : public Model {
 public:
  explicit ConditionalModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  int units = 0, embedding_units = 0;
  Transitions forward, backward;  // of the encoder
  Transitions decoder;            // the piece enters the first cell, the attention's context the second
  AdditiveAttention attention;
  Linear start;                   // the decoder's first state, of the mean of the encoder's contexts, before tanh
  Linear hidden;                  // inputs of the output layer, of piece, state and context, before tanh

 private:
  Transitions transitions(const std::string& name, int count, const std::vector<int>& entering);
  const float* vector(const std::string& name, int size) const;
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
