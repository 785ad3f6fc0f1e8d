#include "conditional/conditional_model.h"

#include "conditional/conditional.h"

namespace nmt {

ConditionalModel::ConditionalModel(std::unique_ptr<SafeTensors> file) : AttendingModel(std::move(file)) {
  shape.output_units = embedding_units;
  read_encoder(count("encoder_transitions", 1, 1000));
  decoder = transitions("decoder.", count("decoder_transitions", 2, 1000), {embedding_units, 2 * units});
  read_attention(2 * units);
  hidden = linear("hidden", embedding_units, embedding_units + 3 * units);
  read_pieces();
  decoder_products = std::make_unique<PieceProducts>(decoder[0].inputs, target_embeddings, shape.target_factor);
}

std::unique_ptr<Network> ConditionalModel::network() const { return std::make_unique<Conditional>(*this); }

std::vector<Linear*> ConditionalModel::linears() {
  std::vector<Linear*> found = AttendingModel::linears();
  found.push_back(&hidden);
  add_linears(decoder, found);
  return found;
}

}  // namespace nmt
