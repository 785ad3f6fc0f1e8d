#include "conditional/attending_model.h"

namespace nmt {
namespace {

constexpr int kPositions = 4096;  // maximum sentence length in pieces; the network itself has no limit

}  // namespace

AttendingModel::AttendingModel(std::unique_ptr<SafeTensors> file) : Model(std::move(file)) {
  units = Model::units("units", kMostUnits / 4);  // a conditional decoder's last product has 4 x units inputs
  embedding_units = Model::units("embedding_units", kMostUnits / 4);
  shape.source_units = shape.target_units = embedding_units;
  shape.attention_layers = shape.attention_heads = 1;
  position_count = kPositions;
}

void AttendingModel::read_encoder(int count) {
  forward = transitions("encoder.forward.", count, {embedding_units});
  backward = transitions("encoder.backward.", count, {embedding_units});
}

void AttendingModel::read_attention(int attention_units) {
  attention.queries = linear("attention.queries", attention_units, units);
  attention.keys = linear("attention.keys", attention_units, 2 * units);
  attention.combination = file_->floats("attention.combination", {(size_t)attention_units});
  start = linear("start", units, 2 * units);
}

void AttendingModel::read_pieces() {
  Model::read_pieces();
  forward_products = std::make_unique<PieceProducts>(forward[0].inputs, source_embeddings, shape.source_factor);
  backward_products = std::make_unique<PieceProducts>(backward[0].inputs, source_embeddings, shape.source_factor);
}

Transitions AttendingModel::transitions(const std::string& name, int count, const std::vector<int>& entering) {
  Transitions cells((size_t)count);
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string cell = name + std::to_string(c);
    if (c < entering.size())
      cells[c].inputs = linear(cell + ".inputs", 3 * units, entering[c]);
    else
      cells[c].constant = file_->floats(cell + ".constant", {(size_t)3 * units});
    cells[c].states = linear(cell + ".states", 3 * units, units);
  }
  return cells;
}

std::vector<Linear*> AttendingModel::linears() {
  std::vector<Linear*> found = {&attention.queries, &attention.keys, &start};
  add_linears(forward, found);
  add_linears(backward, found);
  return found;
}

void add_linears(Transitions& cells, std::vector<Linear*>& to) {
  for (GatedUnit& cell : cells) {
    if (cell.inputs.outputs) to.push_back(&cell.inputs);
    to.push_back(&cell.states);
  }
}

}  // namespace nmt
