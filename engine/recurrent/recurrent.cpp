#include "recurrent/recurrent.h"

#include <algorithm>
#include <numeric>

namespace nmt {
namespace {

// Scores are unscaled dot products; keys and values are as wide as the model.
Heads heads(const RecurrentModel& model) { return {1, model.units, 1.f, model.shape.type != Type::float32}; }

// A hypothesis keeps one page: the states of all layers, then the last hidden state.
size_t past_bytes(const RecurrentModel& model) { return (size_t)(model.decoder_state() + model.units) * sizeof(float); }

}  // namespace

Recurrent::Recurrent(const RecurrentModel& model)
    : StatefulNetwork(model, past_bytes(model), page_bytes(heads(model))), model_(model), heads_(heads(model)) {}

// Cells

// The input products of a cell.
void Recurrent::multiply_inputs(const Cell& cell, const float* rows, int count, Component products, Component other) {
  float* const gates = gates_.get((size_t)count * cell.gates());
  multiply_blocks(cell.inputs, rows, count, gates, products, other);
  point_to_gates(count, cell.gates());
}

void Recurrent::point_to_gates(int count, int width) {
  inputs_of_.resize((size_t)count);
  for (int r = 0; r < count; ++r) inputs_of_[r] = gates_.data() + (size_t)r * width;
}

// One step of a cell: the next states of some rows. inputs: the rows' input products.
void Recurrent::advance(const Cell& cell, const float* const* inputs, float* const* states, int count,
                        Component products, Component other) {
  const int units = cell.units(), width = cell.gates();
  float* const outputs = gathered_.get((size_t)count * units);
  for (int r = 0; r < count; ++r) std::copy_n(states[r], units, outputs + (size_t)r * units);
  float* const of_states = products_.get((size_t)count * width);
  multiply_blocks(cell.states, outputs, count, of_states, products, other);
  Timed timed(clock, other);
  for (int r = 0; r < count; ++r) update(kernels_, cell, inputs[r], of_states + (size_t)r * width, states[r]);
}

// The encoder. Rows are ordered by step; within a step longer sentences come first, so that unfinished sentences are
// the first rows of each step.

void Recurrent::encode(const std::vector<std::vector<int32_t>>& sentences) {
  for (PageTable& table : memory_) table.clear(memory_pages_);
  memory_.resize(sentences.size());
  order(sentences);
  outputs_.get((size_t)starts_.back() * model_.units);
  last_.get(sentences.size() * model_.encoder_state());
  for (size_t d = 0; d < model_.encoder.size(); ++d) encode_direction(sentences, d);
  start_decoder();
  remember_source();
}

void Recurrent::order(const std::vector<std::vector<int32_t>>& sentences) {
  const size_t count = sentences.size();
  lengths_.resize(count);
  firsts_.resize(count);
  order_.resize(count);
  int rows = 0;
  for (size_t s = 0; s < count; ++s) {
    firsts_[s] = rows;
    rows += lengths_[s] = (int)sentences[s].size();
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return lengths_[a] > lengths_[b]; });
  starts_.assign(1, 0);
  int alive = (int)count;
  for (int step = 0; step < lengths_[order_[0]]; ++step) {
    while (lengths_[order_[alive - 1]] <= step) --alive;
    starts_.push_back(starts_.back() + alive);
  }
}

// The position in a sentence that a direction reads at a step.
int Recurrent::place(int rank, int step, size_t direction) const {
  return direction ? lengths_[order_[rank]] - 1 - step : step;
}

void Recurrent::encode_direction(const std::vector<std::vector<int32_t>>& sentences, size_t direction) {
  const int count = starts_.back(), steps = (int)starts_.size() - 1, units = model_.direction_units;
  const auto products = Component::encoder_products, other = Component::encoder_rows;
  pieces_.clear();
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < active(step); ++rank)
      pieces_.push_back(sentences[order_[rank]][place(rank, step, direction)]);
  enter(*model_.encoder_products[direction], pieces_.data(), count, gates_, inputs_of_, products, other);
  float* const rows = rows_.get((size_t)count * units);
  for (size_t l = 0; l < model_.encoder[direction].size(); ++l) {
    if (l) multiply_inputs(model_.encoder[direction][l], rows, count, products, other);
    encode_layer(direction, l, rows);
  }
  Timed timed(clock, Component::encoder_rows);
  for (int step = 0, row = 0; step < steps; ++step)
    for (int rank = 0; rank < active(step); ++rank, ++row)
      std::copy_n(rows + (size_t)row * units, units,
                  outputs_.data() + (size_t)(firsts_[order_[rank]] + place(rank, step, direction)) * model_.units +
                      direction * units);
}

// The recurrent part of a layer. Writes outputs, [rows][units of a direction], and the last states.
void Recurrent::encode_layer(size_t direction, size_t layer, float* outputs) {
  const Cell& cell = model_.encoder[direction][layer];
  const size_t units = (size_t)cell.units(), kept = state_count(cell.kind), count = order_.size();
  float* const states = states_.get(count * kept * units);
  std::fill_n(states, count * kept * units, 0.f);
  states_of_.resize(count);
  for (size_t rank = 0; rank < count; ++rank) states_of_[rank] = states + rank * kept * units;
  for (int step = 0; step + 1 < (int)starts_.size(); ++step) {
    const size_t first = (size_t)starts_[step];
    advance(cell, inputs_of_.data() + first, states_of_.data(), active(step), Component::encoder_products,
            Component::encoder_rows);
    for (int rank = 0; rank < active(step); ++rank)
      std::copy_n(states_of_[rank], units, outputs + (first + rank) * units);
  }
  for (size_t rank = 0; rank < count; ++rank)
    for (size_t k = 0; k < kept; ++k)  // both directions of a vector are adjacent
      std::copy_n(states_of_[rank] + k * units, units,
                  last_.data() + (size_t)order_[rank] * model_.encoder_state() + (layer * kept + k) * model_.units +
                      direction * units);
}

// The decoder's initial states, [sentences][decoder_state].
void Recurrent::start_decoder() {
  const int count = (int)lengths_.size(), from = model_.encoder_state(), to = model_.decoder_state();
  float* const first = first_.get((size_t)count * to);
  if (!model_.bridge.outputs) {
    std::copy_n(last_.data(), (size_t)count * to, first);
    return;
  }
  const Inputs ready =
      quantised(last_.data(), count, from, from, nullptr, model_.bridge.input_scale, Component::encoder_rows);
  multiply(model_.bridge, ready, count, {first, to, Into::store, nullptr}, Component::encoder_products);
}

// Computes the keys of the encoder's output once per sentence; the output itself is the values.
void Recurrent::remember_source() {
  const int units = model_.units, count = starts_.back();
  int sentence = 0, position = 0;
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const float* const values = outputs_.data() + (size_t)start * units;
    float* const keys = gates_.get((size_t)block * units);
    const Inputs ready =
        quantised(values, block, units, units, nullptr, model_.keys.input_scale, Component::encoder_rows);
    multiply(model_.keys, ready, block, {keys, units, Into::store, nullptr}, Component::memory);
    Timed timed(clock, Component::memory);
    for (int r = 0; r < block; ++r) {
      char* const page = memory_[sentence].own(memory_pages_, position);
      kernels_.remember(heads_, keys + (size_t)r * units, values + (size_t)r * units, position % kPagePositions, page);
      if (++position == lengths_[sentence]) ++sentence, position = 0;
    }
  }
}

// The decoder

Inputs Recurrent::step(const Step* steps, int count) {
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  const int units = model_.units;
  pages_of_.resize((size_t)count);
  states_of_.resize((size_t)count);
  for (int r = 0; r < count; ++r) pages_of_[r] = state(steps[r]);
  enter_decoder(steps, count);
  float* const rows = rows_.get((size_t)count * units);
  for (size_t l = 0; l < model_.decoder.size(); ++l) {
    const Cell& cell = model_.decoder[l];
    if (l) multiply_inputs(cell, rows, count, products, other);
    for (int r = 0; r < count; ++r) states_of_[r] = pages_of_[r] + l * state_count(cell.kind) * units;
    advance(cell, inputs_of_.data(), states_of_.data(), count, products, other);
    for (int r = 0; r < count; ++r) std::copy_n(states_of_[r], units, rows + (size_t)r * units);
  }
  source_attention(steps, count);
  return hidden(count);
}

// Input products of the first cell: of the pieces plus the last hidden states.
void Recurrent::enter_decoder(const Step* steps, int count) {
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  const size_t units = (size_t)model_.units, width = (size_t)model_.feedback.outputs;
  float* const hidden = rows_.get(count * units);
  pieces_.resize((size_t)count);
  for (int r = 0; r < count; ++r) {
    pieces_[r] = steps[r].position == 0 && model_.shape.start_from_zero ? kNothing : steps[r].piece;
    std::copy_n(pages_of_[r] + model_.decoder_state(), units, hidden + r * units);
  }
  enter(*model_.decoder_products, pieces_.data(), count, products_, inputs_of_, products, other);
  float* const gates = gates_.get(count * width);
  {
    Timed timed(clock, other);
    for (int r = 0; r < count; ++r) std::copy_n(inputs_of_[r], width, gates + r * width);
  }
  multiply_blocks(model_.feedback, hidden, count, gates, products, other, Into::add);
  point_to_gates(count, (int)width);
}

// The writable past of a hypothesis; before its first step, the encoder's final state.
float* Recurrent::state(const Step& step) {
  float* const own = (float*)step.state->past.own(pages_, 0);
  if (step.position == 0) {
    const int size = model_.decoder_state();
    std::copy_n(first_.data() + (size_t)step.state->sentence * size, size, own);
    std::fill_n(own + size, model_.units, 0.f);
  }
  return own;
}

// Outputs of the last layer, each followed by its context, in joined_: [count][2][units].
void Recurrent::source_attention(const Step* steps, int count) {
  Timed timed(clock, Component::encoder_decoder_attention);
  const int units = model_.units, wide = 2 * units;
  const bool watching = watched_layer_ == 0;
  if (watching) watch_rows(steps, count);
  float* const joined = joined_.get((size_t)count * wide);
  for (int r = 0; r < count; ++r) std::copy_n(rows_.data() + (size_t)r * units, units, joined + (size_t)r * wide);
  for (int r = 0; r < count;) {
    const int length = lengths_[steps[r].state->sentence], same = sharing(steps, r, count);
    const size_t row_weights = (size_t)in_pages(length);
    float* const weights = watching ? weights_.get((size_t)same * row_weights) : nullptr;
    const Cache cache = {memory_of(*steps[r].state).data(), 0, length};
    float* const row = joined + (size_t)r * wide;
    kernels_.attend(heads_, row, same, wide, cache, row + units, wide, weights, scratch(length));
    for (int i = 0; watching && i < same; ++i) keep_attention(weights + i * row_weights, 1, r + i, length);
    r += same;
  }
}

// The hidden states, which are also fed back into the next step.
Inputs Recurrent::hidden(int count) {
  const int units = model_.units, wide = 2 * units;
  const Inputs ready =
      quantised(joined_.data(), count, wide, wide, nullptr, model_.hidden.input_scale, Component::decoder_rows);
  float* const rows = hidden_.get((size_t)count * units);
  multiply(model_.hidden, ready, count, {rows, units, Into::store, nullptr}, Component::decoder_products);
  {
    Timed timed(clock, Component::decoder_rows);
    kernels_.tangents(rows, count, units, units);
    for (int r = 0; r < count; ++r) std::copy_n(rows + (size_t)r * units, units, pages_of_[r] + model_.decoder_state());
  }
  return quantised(rows, count, units, units, nullptr, model_.output_input_scale, Component::decoder_rows);
}

}  // namespace nmt
