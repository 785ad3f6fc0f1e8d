#include "conditional/conditional_model.h"

#include "conditional/conditional.h"

namespace nmt {
namespace {

constexpr int kPositions = 4096;  // pieces of a sentence; the network itself has no limit

}  // namespace

ConditionalModel::ConditionalModel(std::unique_ptr<SafeTensors> file) : Model(std::move(file)) {
  units = Model::units("units", kMostUnits / 4);  // inputs of `hidden` are wider
  embedding_units = Model::units("embedding_units", kMostUnits / 4);
  shape.source_units = shape.target_units = shape.output_units = embedding_units;
  shape.attention_layers = shape.attention_heads = 1;
  position_count = kPositions;
  const int encoder_transitions = count("encoder_transitions", 1, 1000);
  forward = transitions("encoder.forward.", encoder_transitions, {embedding_units});
  backward = transitions("encoder.backward.", encoder_transitions, {embedding_units});
  decoder = transitions("decoder.", count("decoder_transitions", 2, 1000), {embedding_units, 2 * units});
  attention.queries = linear("attention.queries", 2 * units, units);
  attention.keys = linear("attention.keys", 2 * units, 2 * units);
  attention.combination = vector("attention.combination", 2 * units);
  start = linear("start", units, 2 * units);
  hidden = linear("hidden", embedding_units, embedding_units + 3 * units);
  read_pieces();
}

// entering: how many inputs the first cells have; the others are transitions.
Transitions ConditionalModel::transitions(const std::string& name, int count, const std::vector<int>& entering) {
  Transitions cells((size_t)count);
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string cell = name + std::to_string(c);
    if (c < entering.size())
      cells[c].inputs = linear(cell + ".inputs", 3 * units, entering[c]);
    else
      cells[c].constant = vector(cell + ".constant", 3 * units);
    cells[c].states = linear(cell + ".states", 3 * units, units);
  }
  return cells;
}

const float* ConditionalModel::vector(const std::string& name, int size) const {
  return (const float*)file_->data(name, "F32", {(size_t)size});
}

std::unique_ptr<Network> ConditionalModel::network() const { return std::make_unique<Conditional>(*this); }

std::vector<Linear*> ConditionalModel::linears() {
  std::vector<Linear*> found = {&attention.queries, &attention.keys, &start, &hidden};
  for (Transitions* const cells : {&forward, &backward, &decoder})
    for (GatedUnit& cell : *cells) {
      if (cell.inputs.outputs) found.push_back(&cell.inputs);
      found.push_back(&cell.states);
    }
  return found;
}

}  // namespace nmt
