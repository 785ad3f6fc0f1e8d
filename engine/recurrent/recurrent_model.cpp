#include "recurrent/recurrent_model.h"

#include "recurrent/recurrent.h"

namespace nmt {

constexpr int kMostPieces = 1 << 16;  // maximum sentence length: attention needs room for as many scores

RecurrentModel::RecurrentModel(std::unique_ptr<SafeTensors> file) : Model(std::move(file)) {
  const std::string& name = file_->metadata("cell");
  if (name != "lstm" && name != "gru") file_->fail("its cell '" + name + "' is unknown");
  kind = name == "lstm" ? CellKind::lstm : CellKind::gru;
  units = Model::units("units");
  const int embedding = Model::units("embedding_units"), directions = count("directions", 1, 2);
  direction_units = units / directions;
  if (direction_units % kPanel) file_->fail("the units of a direction are no multiple of 16");
  const int encoder_layers = count("encoder_layers", 1, 1000), decoder_layers = count("decoder_layers", 1, 1000);
  for (int d = 0; d < directions; ++d) {
    encoder.emplace_back();
    const std::string direction = d ? "encoder.backward." : "encoder.forward.";
    for (int l = 0; l < encoder_layers; ++l)
      encoder[d].push_back(cell(direction + std::to_string(l), l ? direction_units : embedding, direction_units));
  }
  for (int l = 0; l < decoder_layers; ++l)
    decoder.push_back(cell("decoder." + std::to_string(l), l ? units : embedding, units));
  feedback = linear("decoder.feedback", gate_count(kind) * units, units);
  if (file_->flag("bridge") && encoder_state() > 4 * kMostUnits)
    file_->fail("it has too many layers for a bridge");  // its sums would overflow
  if (file_->flag("bridge"))
    bridge = linear("bridge", decoder_state(), encoder_state());
  else if (encoder_layers != decoder_layers)
    file_->fail("it has no bridge between layers of different numbers");
  keys = linear("attention.keys", units, units);
  hidden = linear("attention.hidden", units, 2 * units);
  shape.source_units = shape.target_units = embedding;
  shape.output_units = units;
  shape.attention_layers = shape.attention_heads = 1;
  position_count = kMostPieces;
  read_pieces();
  for (const std::vector<Cell>& direction : encoder)
    encoder_products.push_back(
        std::make_unique<PieceProducts>(direction[0].inputs, source_embeddings, shape.source_factor));
  decoder_products = std::make_unique<PieceProducts>(decoder[0].inputs, target_embeddings, shape.target_factor);
}

Cell RecurrentModel::cell(const std::string& name, int inputs, int units) {
  const int gates = gate_count(kind) * units;
  return {kind, linear(name + ".inputs", gates, inputs), linear(name + ".states", gates, units)};
}

std::unique_ptr<Network> RecurrentModel::network() const { return std::make_unique<Recurrent>(*this); }

std::vector<Linear*> RecurrentModel::linears() {
  std::vector<Linear*> found = {&feedback, &keys, &hidden};
  if (bridge.outputs) found.push_back(&bridge);
  const auto add = [&](std::vector<Cell>& layers) {
    for (Cell& layer : layers) found.insert(found.end(), {&layer.inputs, &layer.states});
  };
  for (std::vector<Cell>& direction : encoder) add(direction);
  add(decoder);
  return found;
}

}  // namespace nmt
