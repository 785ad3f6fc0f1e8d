#include "conditional/conditional.h"

#include <algorithm>
#include <numeric>

namespace nmt {
namespace {

constexpr int kGroup = 64;  // sentences that the encoder reads together
constexpr int kBlock = 60;  // rows of a product in the encoder, a multiple of the rows of tiles

// One head, whose keys and values have the width of the encoder's contexts.
Heads heads(const ConditionalModel& model) { return {1, 2 * model.units, 1, model.shape.type != Type::float32}; }

size_t page_bytes(const Heads& heads) { return (size_t)2 * heads.channels * kPagePositions * (heads.half ? 2 : 4); }

}  // namespace

// What a hypothesis keeps is its state, on one page.
Conditional::Conditional(const ConditionalModel& model)
    : Network(model, (size_t)model.units * sizeof(float), page_bytes(heads(model))),
      model_(model),
      heads_(heads(model)),
      nothing_((size_t)model.embedding_units) {}

void Conditional::embed(const Rows& embeddings, int piece, float factor, float* to) {
  const size_t bytes = embeddings.row_bytes(type_, model_.embedding_units);
  kernels_.embed(type_, embeddings.rows + (size_t)piece * bytes, embeddings.scale ? embeddings.scale[piece] : 1.f,
                 factor, nothing_.data(), model_.embedding_units, to);
}

// One step of a cell for rows of states. inputs: of each row, [3][units], or null in a transition.
void Conditional::advance(const GatedUnit& cell, const float* inputs, int count, float* states, Component products,
                          Component other) {
  const int units = model_.units;
  const size_t wide = (size_t)3 * units;
  float* const gates = gates_.get((size_t)count * wide);
  const Inputs ready = quantised(states, count, units, units, nullptr, cell.states.input_scale, other);
  multiply(cell.states, ready, count, {gates, 3 * units, Into::store, nullptr}, products);
  Timed timed(clock, other);
  for (int r = 0; r < count; ++r)
    kernels_.gru(inputs ? inputs + r * wide : cell.constant, gates + r * wide, units, states + (size_t)r * units);
}

// The encoder

void Conditional::encode(const std::vector<std::vector<int32_t>>& sentences) {
  for (auto& table : memory_) table.clear(memory_pages_);
  const size_t count = sentences.size();
  memory_.resize(count);
  lengths_.resize(count);
  for (size_t s = 0; s < count; ++s) lengths_[s] = (int)sentences[s].size();
  starts_.get(count * model_.units);
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return lengths_[a] > lengths_[b]; });
  for (size_t first = 0; first < count; first += kGroup)
    encode_group(sentences, order_.data() + first, (int)std::min(count - first, (size_t)kGroup));
}

// group: sentences, longest first, so that those that have not ended are the first ones.
void Conditional::encode_group(const std::vector<std::vector<int32_t>>& sentences, const int* group, int count) {
  const size_t embedding_units = (size_t)model_.embedding_units;
  offsets_.assign(1, 0);
  for (int i = 0; i < count; ++i) offsets_.push_back(offsets_.back() + lengths_[group[i]]);
  const int rows = offsets_.back();
  float* const embedded = embedded_.get(rows * embedding_units);
  {
    Timed timed(clock, Component::embeddings);
    float* row = embedded;
    for (int i = 0; i < count; ++i)
      for (const int32_t piece : sentences[group[i]]) {
        embed(model_.source_embeddings, piece, model_.shape.source_factor, row);
        row += embedding_units;
      }
  }
  float* const contexts = contexts_.get((size_t)rows * 2 * model_.units);
  for (const bool reversed : {false, true}) {
    const Transitions& cells = reversed ? model_.backward : model_.forward;
    multiply_blocks(cells[0].inputs, embedded, rows, mixed_.get((size_t)rows * 3 * model_.units),
                    Component::encoder_products, Component::encoder_rows);
    run(cells, reversed, count, contexts + (reversed ? model_.units : 0));
  }
  remember_source(group, count, contexts);
  begin(group, count, contexts);
}

void Conditional::multiply_blocks(const Linear& weights, const float* rows, int count, float* to, Component products,
                                  Component other) {
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const Inputs inputs = quantised(rows + (size_t)start * weights.inputs, block, weights.inputs, weights.inputs,
                                    nullptr, weights.input_scale, other);
    multiply(weights, inputs, block, {to + (size_t)start * weights.outputs, weights.outputs, Into::store, nullptr},
             products);
  }
}

// One direction of the encoder over a group, whose inputs to the first cell are in mixed_. contexts: where the states go,
// [rows][2 x units], of which this direction has one half.
void Conditional::run(const Transitions& cells, bool reversed, int count, float* contexts) {
  const size_t units = (size_t)model_.units;
  float* const states = states_.get(count * units);
  std::fill(states, states + count * units, 0.f);
  float* const inputs = entering_.get(count * 3 * units);
  const auto row = [&](int sentence, int position) {
    return (size_t)(reversed ? offsets_[sentence + 1] - 1 - position : offsets_[sentence] + position);
  };
  int reading = count;  // sentences that have not ended
  for (int position = 0;; ++position) {
    while (reading && offsets_[reading] - offsets_[reading - 1] <= position) --reading;
    if (!reading) return;
    for (int i = 0; i < reading; ++i) {
      const float* const from = mixed_.data() + row(i, position) * 3 * units;
      std::copy(from, from + 3 * units, inputs + i * 3 * units);
    }
    for (const GatedUnit& cell : cells)
      advance(cell, cell.constant ? nullptr : inputs, reading, states, Component::encoder_products,
              Component::encoder_rows);
    for (int i = 0; i < reading; ++i)
      std::copy(states + i * units, states + (i + 1) * units, contexts + row(i, position) * 2 * units);
  }
}

// The keys of the attention, once a sentence, and the contexts themselves as values.
void Conditional::remember_source(const int* group, int count, const float* contexts) {
  const int wide = 2 * model_.units, rows = offsets_[count];
  float* const keys = mixed_.get((size_t)rows * wide);
  multiply_blocks(model_.attention.keys, contexts, rows, keys, Component::memory, Component::memory);
  Timed timed(clock, Component::memory);
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < lengths_[group[i]]; ++p) {
      const size_t at = (size_t)(offsets_[i] + p) * wide;
      kernels_.remember(heads_, keys + at, contexts + at, p % kPagePositions, memory_[group[i]].own(memory_pages_, p));
    }
}

// The state in which the decoder begins each sentence.
void Conditional::begin(const int* group, int count, const float* contexts) {
  const size_t units = (size_t)model_.units, wide = 2 * units;
  float* const means = means_.get(count * wide);
  float* const sum = parts_.get(wide);
  for (int i = 0; i < count; ++i) {
    std::fill(sum, sum + wide, 0.f);
    for (int p = 0; p < lengths_[group[i]]; ++p)
      kernels_.average(contexts + (size_t)(offsets_[i] + p) * wide, sum, 1.f / (float)lengths_[group[i]], (int)wide,
                       false, means + i * wide);
  }
  float* const states = states_.get(count * units);
  multiply_blocks(model_.start, means, count, states, Component::memory, Component::memory);
  kernels_.tangents(states, count, model_.units, model_.units);
  for (int i = 0; i < count; ++i)
    std::copy(states + i * units, states + (i + 1) * units, starts_.data() + group[i] * units);
}

// The decoder

Inputs Conditional::step(const Step* steps, int count) {
  const size_t units = (size_t)model_.units, embedding_units = (size_t)model_.embedding_units;
  const size_t wide = embedding_units + 3 * units;  // piece, state and context of a row
  float* const embedded = embedded_.get(count * embedding_units);
  float* const states = states_.get(count * units);
  float* const contexts = contexts_.get(count * 2 * units);
  float* const mixed = mixed_.get(count * 3 * units);
  {
    Timed timed(clock, Component::embeddings);
    for (int r = 0; r < count; ++r) {
      const Step& step = steps[r];
      const float factor = step.position == 0 && model_.shape.start_from_zero ? 0 : model_.shape.target_factor;
      embed(model_.target_embeddings, step.piece, factor, embedded + r * embedding_units);
      const float* const before = step.position ? (const float*)step.state->past.own(pages_, 0)
                                                : starts_.data() + step.state->sentence * units;
      std::copy(before, before + units, states + r * units);
    }
  }
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  for (const GatedUnit& cell : model_.decoder) {
    const bool first = &cell == &model_.decoder[0], second = &cell == &model_.decoder[1];
    if (second) attend(steps, count, contexts);
    if (first || second)
      multiply_blocks(cell.inputs, first ? embedded : contexts, count, mixed, products, other);
    advance(cell, cell.constant ? nullptr : mixed, count, states, products, other);
  }
  float* const parts = parts_.get(count * wide);
  {
    Timed timed(clock, other);
    for (int r = 0; r < count; ++r) {
      const float* const state = states + r * units;
      std::copy(state, state + units, (float*)steps[r].state->past.own(pages_, 0));
      float* to = std::copy(embedded + r * embedding_units, embedded + (r + 1) * embedding_units, parts + r * wide);
      to = std::copy(state, state + units, to);
      std::copy(contexts + r * 2 * units, contexts + (r + 1) * 2 * units, to);
    }
  }
  float* const hidden = hidden_.get(count * embedding_units);
  multiply_blocks(model_.hidden, parts, count, hidden, products, other);
  {
    Timed timed(clock, other);
    kernels_.tangents(hidden, count, model_.embedding_units, model_.embedding_units);
  }
  return quantised(hidden, count, model_.embedding_units, model_.embedding_units, nullptr, model_.output_input_scale,
                   other);
}

// The contexts of states_.
void Conditional::attend(const Step* steps, int count, float* contexts) {
  const int wide = heads_.channels;
  float* const queries = mixed_.get((size_t)count * wide);
  multiply_blocks(model_.attention.queries, states_.data(), count, queries, Component::decoder_products,
                  Component::decoder_rows);
  Timed timed(clock, Component::encoder_decoder_attention);
  const bool watching = watched_layer_ == 0;
  if (watching) watch_rows(steps, count);
  for (int r = 0; r < count;) {
    const int length = lengths_[steps[r].state->sentence], same = sharing(steps, r, count);
    float* const weights = watching ? weights_.get((size_t)same * in_pages(length)) : nullptr;
    const Cache cache = {memory_of(*steps[r].state).data(), 0, length};
    kernels_.attend_additive(heads_, model_.attention.combination, queries + (size_t)r * wide, same, wide, cache,
                             contexts + (size_t)r * wide, wide, weights, scratch(length));
    for (int row = 0; watching && row < same; ++row)
      keep_attention(weights + (size_t)row * in_pages(length), 1, r + row, length);
    r += same;
  }
}

}  // namespace nmt
