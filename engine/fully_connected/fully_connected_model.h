// Devlin's model (2017, "Sharp Models on Dull Hardware"): one gated unit, which reads the last piece and the context of
// its previous state, and above it fully connected layers without recurrence.
#pragma once

#include "conditional/attending_model.h"

namespace nmt {

// relu(inner x) + x; x is projected where the widths differ.
struct ConnectedLayer {
  Linear inner;
  Linear projection;  // without outputs if the widths are equal
};

class FullyConnectedModel : public AttendingModel {
 public:
  explicit FullyConnectedModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  GatedUnit decoder;  // its input is the piece
  std::unique_ptr<PieceProducts> decoder_products;
  Linear contexts;  // product of the context, added to the piece's product
  std::vector<ConnectedLayer> layers;

 private:
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
