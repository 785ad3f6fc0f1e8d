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

  // What a stack of layers keeps of a sentence, in floats: state_count vectors for each layer.
  int encoder_state() const { return (int)encoder[0].size() * state_count(kind) * units; }
  int decoder_state() const { return (int)decoder.size() * state_count(kind) * units; }

  CellKind kind = CellKind::lstm;
  int units = 0;            // of the encoder's output and of the decoder
  int direction_units = 0;  // of a layer of the encoder in one direction
  std::vector<std::vector<Cell>> encoder;  // the layers of each direction, which meet above the last one only
  std::vector<Cell> decoder;               // a piece enters the first one
  Linear feedback;                         // what the last hidden state adds to the piece's product
  std::vector<std::unique_ptr<PieceProducts>> encoder_products;  // of each direction
  std::unique_ptr<PieceProducts> decoder_products;
  Linear bridge;  // from the encoder's last states to the decoder's first; without outputs: they are the same
  Linear keys;    // of the encoder's output, which are the values
  Linear hidden;  // of the last layer's output and the context, before tanh

 private:
  Cell cell(const std::string& name, int inputs, int units);
  std::vector<Linear*> linears() override;
};

}  // namespace nmt
