// A recurrent bottom and fully connected layers on top (Devlin 2017, "Sharp Models on Dull Hardware"): one gated unit, which
// the last piece and what the state before attends to enter, and above it layers that wait for no step before.
#pragma once

#include "conditional/attending_model.h"

namespace nmt {

// relu(inner x) + x, with x projected where the widths differ.
struct ConnectedLayer {
  Linear inner;
  Linear projection;  // no outputs where x stays as it is
};

class FullyConnectedModel : public AttendingModel {
 public:
  explicit FullyConnectedModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  GatedUnit decoder;  // the piece enters it
  std::unique_ptr<PieceProducts> decoder_products;
  Linear contexts;    // what the attention's context adds to the piece's product
  std::vector<ConnectedLayer> layers;

 private:
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
