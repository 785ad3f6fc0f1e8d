// A recurrent decoder whose second cell sees what the source has to say to the state behind the first one: Nematus'
// conditional GRU with attention (Sennrich et al. 2017), with any number of cells a step (deep transitions; Sennrich et
// al. 2017, "The University of Edinburgh's Neural MT Systems for WMT17").
#pragma once

#include "conditional/attending_model.h"

namespace nmt {

class ConditionalModel : public AttendingModel {
 public:
  explicit ConditionalModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  Transitions decoder;  // the piece enters the first cell, the attention's context the second
  std::unique_ptr<PieceProducts> decoder_products;
  Linear hidden;        // inputs of the output layer, of piece, state and context, before tanh

 private:
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
