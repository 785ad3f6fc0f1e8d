// The layers of an encoder and a decoder of recurrent cells with attention above the decoder (Luong et al. 2015).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/piece_products.h"
#include "recurrent/cell.h"

namespace nmt {

class RecurrentModel : public Model {
 public:
  explicit RecurrentModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  // Floats of the state of a stack of layers: state_count vectors per layer.
  int encoder_state() const { return (int)encoder[0].size() * state_count(kind) * units; }
  int decoder_state() const { return (int)decoder.size() * state_count(kind) * units; }

  CellKind kind = CellKind::lstm;
  int units = 0;                           // width of the encoder's output and of the decoder
  int direction_units = 0;                 // width of an encoder layer in one direction
  std::vector<std::vector<Cell>> encoder;  // layers of each direction, concatenated above the last one only
  std::vector<Cell> decoder;               // the piece enters the first one
  Linear feedback;                         // product of the last hidden state, added to the piece's product
  std::vector<std::unique_ptr<PieceProducts>> encoder_products;  // per direction
  std::unique_ptr<PieceProducts> decoder_products;
  Linear bridge;  // from the encoder's last states to the decoder's first; without outputs if they are equal
  Linear keys;    // from the encoder's output, which is the values
  Linear hidden;  // from the last layer's output and the context, before tanh

 private:
  Cell cell(const std::string& name, int inputs, int units);
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
