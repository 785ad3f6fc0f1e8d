#include "fully_connected/fully_connected_model.h"

#include "fully_connected/fully_connected.h"

namespace nmt {

FullyConnectedModel::FullyConnectedModel(std::unique_ptr<SafeTensors> file) : AttendingModel(std::move(file)) {
  if (shape.start_from_zero) file_->fail("its decoder starts from zero, which this architecture has no product for");
  const int layer_units = Model::units("fully_connected_units", kMostUnits / 4);
  shape.output_units = layer_units;
  read_encoder(1);
  decoder = transitions("decoder.", 1, {embedding_units})[0];
  read_attention(units);
  contexts = linear("decoder.contexts", 3 * units, 2 * units);
  layers.resize((size_t)count("fully_connected_layers", 1, 1000));
  for (size_t l = 0; l < layers.size(); ++l) {
    const std::string name = "layers." + std::to_string(l);
    const int inputs = l ? layer_units : units;
    layers[l].inner = linear(name + ".inner", layer_units, inputs);
    if (inputs != layer_units) layers[l].projection = linear(name + ".projection", layer_units, inputs);
  }
  read_pieces();
  decoder_products = std::make_unique<PieceProducts>(decoder.inputs, target_embeddings, shape.target_factor);
}

std::unique_ptr<Network> FullyConnectedModel::network() const { return std::make_unique<FullyConnected>(*this); }

std::vector<Linear*> FullyConnectedModel::linears() {
  std::vector<Linear*> found = AttendingModel::linears();
  for (Linear* const weights : {&decoder.inputs, &decoder.states, &contexts}) found.push_back(weights);
  for (ConnectedLayer& layer : layers) {
    found.push_back(&layer.inner);
    if (layer.projection.outputs) found.push_back(&layer.projection);
  }
  return found;
}

}  // namespace nmt
