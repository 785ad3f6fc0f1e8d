// Nematus' conditional GRU with attention (Sennrich et al. 2017): the second cell of a step reads the context that the
// first cell's state attends to. A step may have any number of cells (deep transitions; Sennrich et al. 2017, "The
// University of Edinburgh's Neural MT Systems for WMT17").
#pragma once

#include "conditional/attending_model.h"

namespace nmt {

class ConditionalModel : public AttendingModel {
 public:
  explicit ConditionalModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  Transitions decoder;  // the piece enters the first cell, the context the second
  std::unique_ptr<PieceProducts> decoder_products;
  Linear hidden;  // from piece, state and context to the output layer's inputs, before tanh

 private:
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
