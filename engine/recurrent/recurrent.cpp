#include "recurrent/recurrent.h"

#include <algorithm>
#include <limits>

namespace nmt {
namespace {

// Scores are unscaled dot products; keys and values are as wide as the model.
HeadShape heads(const RecurrentModel& model) { return {1, model.units, 1.f, model.shape.type != Type::float32}; }

// A hypothesis keeps one page: the states of all layers, then the last hidden state.
size_t past_bytes(const RecurrentModel& model) { return (size_t)(model.decoder_state() + model.units) * sizeof(float); }

}  // namespace

Recurrent::Recurrent(const RecurrentModel& model)
    : StatefulNetwork(model, past_bytes(model), page_bytes(heads(model)), std::numeric_limits<int>::max()),
      model_(model),
      heads_(heads(model)) {}

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

// The encoder

void Recurrent::encode_group() {
  outputs_.get((size_t)group_.rows() * model_.units);
  last_.get((size_t)group_.count() * model_.encoder_state());
  for (size_t d = 0; d < model_.encoder.size(); ++d) encode_direction(d);
  start_decoder();
  cache_source();
}

// Writes a direction's part of outputs_, [rows][units].
void Recurrent::encode_direction(size_t direction) {
  const auto products = Component::encoder_products, other = Component::encoder_rows;
  const int count = group_.rows(), units = model_.direction_units;
  const std::vector<Cell>& layers = model_.encoder[direction];
  enter(*model_.encoder_products[direction], group_.pieces.data(), count, gates_, inputs_of_, products, other);
  float* const rows = rows_.get((size_t)count * units);
  for (size_t l = 0; l < layers.size(); ++l) {
    if (l) multiply_inputs(layers[l], rows, count, products, other);
    const bool last = l + 1 == layers.size();
    encode_layer(direction, l, last ? outputs_.data() + direction * units : rows,
                 (size_t)(last ? model_.units : units));
  }
}

// The recurrent part of a layer. Writes outputs, `stride` floats per row, and the last states.
void Recurrent::encode_layer(size_t direction, size_t layer, float* outputs, size_t stride) {
  const Cell& cell = model_.encoder[direction][layer];
  const size_t units = (size_t)cell.units(), kept = state_count(cell.kind), count = (size_t)group_.count();
  float* const states = states_.get(count * kept * units);
  std::fill_n(states, count * kept * units, 0.f);
  states_of_.resize(count);
  for (size_t rank = 0; rank < count; ++rank) states_of_[rank] = states + rank * kept * units;
  read_group(direction, inputs_of_, states, kept * units, units, outputs, stride,
             [&](const float* const* inputs, int reading) {
               advance(cell, inputs, states_of_.data(), reading, Component::encoder_products, Component::encoder_rows);
             });
  for (size_t rank = 0; rank < count; ++rank)
    for (size_t k = 0; k < kept; ++k)  // both directions of a vector are adjacent
      std::copy_n(states_of_[rank] + k * units, units,
                  last_.data() + rank * model_.encoder_state() + (layer * kept + k) * model_.units + direction * units);
}

// The decoder's initial states, [sentences][decoder_state].
void Recurrent::start_decoder() {
  const int count = group_.count(), from = model_.encoder_state(), to = model_.decoder_state();
  const float* starts = last_.data();
  if (model_.bridge.outputs) {
    float* const bridged = gates_.get((size_t)count * to);
    const Inputs ready =
        quantised(starts, count, from, from, nullptr, model_.bridge.input_scale, Component::encoder_rows);
    multiply(model_.bridge, ready, count, {bridged, to, Epilogue::store, nullptr}, Component::encoder_products);
    starts = bridged;
  }
  float* const first = first_.get(lengths_.size() * to);
  for (int rank = 0; rank < count; ++rank)
    std::copy_n(starts + (size_t)rank * to, to, first + (size_t)group_.sentences[rank] * to);
}

// Computes the keys of the encoder's output once per sentence; the output itself is the values.
void Recurrent::cache_source() {
  const int units = model_.units, count = group_.rows();
  int rank = 0, position = 0;
  for (int start = 0; start < count; start += kernels_.block_rows) {
    const int block = std::min(kernels_.block_rows, count - start);
    const float* const values = outputs_.data() + (size_t)start * units;
    float* const keys = gates_.get((size_t)block * units);
    const Inputs ready =
        quantised(values, block, units, units, nullptr, model_.keys.input_scale, Component::encoder_rows);
    multiply(model_.keys, ready, block, {keys, units, Epilogue::store, nullptr}, Component::memory);
    Timed timed(clock, Component::memory);
    for (int r = 0; r < block; ++r) {
      char* const page = memory_[group_.sentences[rank]].writable(memory_pages_, position);
      kernels_.write_cache(heads_, keys + (size_t)r * units, values + (size_t)r * units, position % kPagePositions,
                           page);
      if (++position == group_.length(rank)) ++rank, position = 0;
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
  multiply_blocks(model_.feedback, hidden, count, gates, products, other, Epilogue::add);
  point_to_gates(count, (int)width);
}

// The writable past of a hypothesis; before its first step, the encoder's final state.
float* Recurrent::state(const Step& step) {
  float* const own = (float*)step.state->past.writable(pages_, 0);
  if (step.position == 0) {
    const int size = model_.decoder_state();
    std::copy_n(first_.data() + (size_t)step.state->sentence * size, size, own);
    std::fill_n(own + size, model_.units, 0.f);
  }
  return own;
}

// Outputs of the last layer, each followed by its context, in joined_: [count][2][units].
void Recurrent::source_attention(const Step* steps, int count) {
  const int units = model_.units, wide = 2 * units;
  float* const joined = joined_.get((size_t)count * wide);
  {
    Timed timed(clock, Component::encoder_decoder_attention);
    for (int r = 0; r < count; ++r) std::copy_n(rows_.data() + (size_t)r * units, units, joined + (size_t)r * wide);
  }
  attend_source(steps, count, 0, 1, 0, [&](int row, int rows, const Cache& cache, float* weights, float* scratch) {
    float* const queries = joined + (size_t)row * wide;
    kernels_.attend(heads_, queries, rows, wide, cache, queries + units, wide, weights, scratch);
  });
}

// The hidden states, which are also fed back into the next step.
Inputs Recurrent::hidden(int count) {
  const int units = model_.units, wide = 2 * units;
  const Inputs ready =
      quantised(joined_.data(), count, wide, wide, nullptr, model_.hidden.input_scale, Component::decoder_rows);
  float* const rows = hidden_.get((size_t)count * units);
  multiply(model_.hidden, ready, count, {rows, units, Epilogue::store, nullptr}, Component::decoder_products);
  {
    Timed timed(clock, Component::decoder_rows);
    kernels_.tangents(rows, count, units, units);
    for (int r = 0; r < count; ++r) std::copy_n(rows + (size_t)r * units, units, pages_of_[r] + model_.decoder_state());
  }
  return quantised(rows, count, units, units, nullptr, model_.output_input_scale, Component::decoder_rows);
}

}  // namespace nmt
