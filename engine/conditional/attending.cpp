#include "conditional/attending.h"

#include <algorithm>

namespace nmt {
namespace {

constexpr int kGroup = 64;  // sentences encoded together

}  // namespace

// A hypothesis keeps its state, on one page.
Attending::Attending(const AttendingModel& model, const HeadShape& heads)
    : StatefulNetwork(model, (size_t)model.units * sizeof(float), page_bytes(heads), kGroup),
      heads_(heads),
      model_(model) {}

void Attending::advance(const GatedUnit& cell, const float* const* inputs, int count, float* states, Component products,
                        Component other) {
  const int units = model_.units;
  const size_t wide = (size_t)3 * units;
  float* const gates = gates_.get((size_t)count * wide);
  const Inputs ready = quantised(states, count, units, units, nullptr, cell.states.input_scale, other);
  multiply(cell.states, ready, count, {gates, 3 * units, Epilogue::store, nullptr}, products);
  Timed timed(clock, other);
  for (int r = 0; r < count; ++r)
    kernels_.gru(inputs ? inputs[r] : cell.constant, gates + r * wide, units, states + (size_t)r * units);
}

// The encoder

void Attending::encode_group() {
  float* const contexts = contexts_.get((size_t)group_.rows() * 2 * model_.units);
  encode_direction(false, contexts);
  encode_direction(true, contexts + model_.units);
  cache_source(group_.sentences.data(), group_.count(), contexts);
  start_decoder(contexts);
}

// Writes a direction's half of contexts, [rows][2 x units].
void Attending::encode_direction(bool backward, float* contexts) {
  const auto products = Component::encoder_products, other = Component::encoder_rows;
  const Transitions& cells = backward ? model_.backward : model_.forward;
  const size_t units = (size_t)model_.units, count = (size_t)group_.count();
  enter(backward ? *model_.backward_products : *model_.forward_products, group_.pieces.data(), group_.rows(), mixed_,
        entered_, products, other);
  float* const states = states_.get(count * units);
  std::fill_n(states, count * units, 0.f);
  read_group(backward, entered_, states, units, units, contexts, 2 * units,
             [&](const float* const* inputs, int reading) {
               for (const GatedUnit& cell : cells)
                 advance(cell, cell.constant ? nullptr : inputs, reading, states, products, other);
             });
}

const float* Attending::values(const float* contexts, int) { return contexts; }

void Attending::cache_source(const int* sentences, int count, const float* contexts) {
  int rows = 0;
  for (int i = 0; i < count; ++i) rows += lengths_[sentences[i]];
  const float* value = values(contexts, rows);
  const float* key = mixed_.get((size_t)rows * heads_.channels);
  multiply_blocks(model_.attention.keys, contexts, rows, mixed_.data(), Component::memory, Component::memory);
  Timed timed(clock, Component::memory);
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < lengths_[sentences[i]]; ++p, key += heads_.channels, value += value_channels(heads_))
      kernels_.write_cache(heads_, key, value, p % kPagePositions, memory_[sentences[i]].writable(memory_pages_, p));
}

// The decoder's initial state of each sentence.
void Attending::start_decoder(const float* contexts) {
  const int count = group_.count();
  const size_t units = (size_t)model_.units, wide = 2 * units;
  float* const means = means_.get(count * wide);
  float* const sum = sum_.get(wide);
  for (int rank = 0; rank < count; ++rank) {
    std::fill_n(sum, wide, 0.f);
    for (int row = group_.offsets[rank]; row < group_.offsets[rank + 1]; ++row)
      kernels_.average(contexts + row * wide, sum, 1.f / (float)group_.length(rank), (int)wide, false,
                       means + rank * wide);
  }
  float* const states = states_.get(count * units);
  multiply_blocks(model_.start, means, count, states, Component::memory, Component::memory);
  kernels_.tangents(states, count, model_.units, model_.units);
  float* const starts = starts_.get(lengths_.size() * units);
  for (int rank = 0; rank < count; ++rank)
    std::copy_n(states + rank * units, units, starts + group_.sentences[rank] * units);
}

// The decoder

void Attending::attend(const Step* steps, int count, float* contexts) {
  const int wide = heads_.channels, value = value_channels(heads_);
  float* const queries = mixed_.get((size_t)count * wide);
  multiply_blocks(model_.attention.queries, states_.data(), count, queries, Component::decoder_products,
                  Component::decoder_rows);
  attend_source(steps, count, 0, 1, 0, [&](int row, int rows, const Cache& cache, float* weights, float* scratch) {
    kernels_.attend_additive(heads_, model_.attention.combination, queries + (size_t)row * wide, rows, wide, cache,
                             contexts + (size_t)row * value, value, weights, scratch);
  });
}

}  // namespace nmt
