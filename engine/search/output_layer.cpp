#include "search/output_layer.h"

#include <algorithm>

#include "runtime/error.h"

namespace nmt {

namespace {

// Indices of the set bits, ascending.
void list(const std::vector<uint64_t>& bits, std::vector<int32_t>& numbers) {
  numbers.clear();
  for (size_t word = 0; word < bits.size(); ++word)
    for (uint64_t left = bits[word]; left; left &= left - 1)
      numbers.push_back((int32_t)(word * 64 + (size_t)__builtin_ctzll(left)));
}

}  // namespace

void OutputLayer::prepare(const Batch& batch, Candidates which, const VocabularyMap* map, Clock& clock) {
  Timed timed(clock, Component::candidates);
  every_piece_ = which == Candidates::all;
  own_columns_ = false;
  if (!every_piece_) {
    if (!map) throw Error("the model has no vocabulary map; open it with one, or take all pieces as candidates");
    choose(batch, which, map);
  }
  gather();
}

void OutputLayer::follow(const OutputLayer& first, Clock& clock) {
  Timed timed(clock, Component::candidates);
  every_piece_ = first.every_piece_;
  own_columns_ = first.own_columns_;
  if (!every_piece_) pieces_ = first.pieces_;
  if (own_columns_) allowed_ = first.allowed_, places_ = first.places_;
  gather();
}

void OutputLayer::gather() {
  if (every_piece_) {
    weights_ = &model_.whole_output();
    return;
  }
  model_.gather_output(pieces_.data(), (int)pieces_.size(), panels_, numbers_, gathered_);
  weights_ = &gathered_;
}

// Collects the candidates of each sentence and of the batch, unique and ascending.
void OutputLayer::choose(const Batch& batch, Candidates which, const VocabularyMap* map) {
  const size_t sentences = batch.sources.size();
  allowed_.resize(sentences);
  places_.resize(sentences);
  place_of_.resize((size_t)model_.shape.target_pieces);
  marked_.assign((size_t)model_.shape.target_pieces / 64 + 1, 0);
  own_columns_ = which == Candidates::per_sentence && sentences > 1;
  const auto mark = [](std::vector<uint64_t>& bits, int32_t piece) { bits[(size_t)piece / 64] |= 1ull << piece % 64; };
  for (size_t s = 0; s < sentences; ++s) {
    map->allow(batch.sources[s], bits_);
    mark(bits_, model_.shape.end);
    if (!batch.prefixes.empty())
      for (const int32_t piece : batch.prefixes[s]) mark(bits_, piece);
    for (size_t word = 0; word < marked_.size(); ++word) marked_[word] |= bits_[word];
    if (own_columns_) list(bits_, allowed_[s]);
  }
  list(marked_, pieces_);
  if (!own_columns_) return;
  for (size_t p = 0; p < pieces_.size(); ++p) place_of_[(size_t)pieces_[p]] = (int32_t)p;
  for (size_t s = 0; s < sentences; ++s) {
    places_[s].resize(allowed_[s].size());
    for (size_t p = 0; p < allowed_[s].size(); ++p) places_[s][p] = place_of_[(size_t)allowed_[s][p]];
  }
}

void OutputLayer::compute(const Inputs& hidden, int rows, SharedProduct& product, Clock& clock) {
  Timed timed(clock, Component::output_layer);
  const int columns = weights_->outputs;
  float* const to = scores_.get((size_t)rows * columns);
  if (own_columns_) picked_.get((size_t)rows * columns);
  product(*weights_, hidden, rows, {to, columns, Epilogue::store, nullptr});
}

float* OutputLayer::scores(int row, int sentence) {
  float* const all = scores_.data() + (size_t)row * weights_->outputs;
  if (!own_columns_) return all;
  float* const own = picked_.data() + (size_t)row * weights_->outputs;
  kernels_.pick(all, places_[sentence].data(), (int)places_[sentence].size(), own);
  return own;
}

int OutputLayer::columns(int sentence) const {
  return own_columns_ ? ((int)allowed_[sentence].size() + kPanel - 1) / kPanel * kPanel : weights_->outputs;
}

// A padding column wins only if no score is a number; it maps to the last piece.
int OutputLayer::piece(int sentence, int column) const {
  if (every_piece_) return std::min(column, model_.shape.target_pieces - 1);
  const auto& pieces = own_columns_ ? allowed_[sentence] : pieces_;
  return pieces[std::min((size_t)column, pieces.size() - 1)];
}

int OutputLayer::column(int sentence, int piece) const {
  if (every_piece_) return piece;
  const auto& pieces = own_columns_ ? allowed_[sentence] : pieces_;
  const auto found = std::lower_bound(pieces.begin(), pieces.end(), piece);
  return found != pieces.end() && *found == piece ? (int)(found - pieces.begin()) : -1;
}

}  // namespace nmt
