#include "fully_connected/fully_connected.h"

#include <algorithm>

namespace nmt {
namespace {

// One head. The values are products of the contexts, as wide as the gates, or the contexts themselves.
HeadShape heads(const FullyConnectedModel& model, bool products) {
  return {1, model.units, 1, model.shape.type != Type::float32, (products ? 3 : 2) * model.units};
}

void add(const float* from, size_t size, float* to) {
  for (size_t i = 0; i < size; ++i) to[i] += from[i];
}

}  // namespace

FullyConnected::FullyConnected(const FullyConnectedModel& model)
    : Attending(model, heads(model, true)), model_(model) {}

// The encoder

void FullyConnected::encode(const std::vector<std::vector<int32_t>>& sentences) {
  heads_ = heads(model_, on_.source_products);
  sources_.resize(sentences.size());
  Attending::encode(sentences);
}

void FullyConnected::cache_source(const int* sentences, int count, const float* contexts) {
  Attending::cache_source(sentences, count, contexts);
  for (int i = 0; !on_.source_products && i < count; ++i) {
    const size_t size = (size_t)lengths_[sentences[i]] * 2 * model_.units;
    sources_[sentences[i]].assign(contexts, contexts + size);
    contexts += size;
  }
}

// U sum_j a_j s_j = sum_j a_j (U s_j), where U s_j does not depend on the target (Devlin 2017).
const float* FullyConnected::values(const float* contexts, int rows) {
  if (!on_.source_products) return contexts;
  float* const products = values_.get((size_t)rows * model_.contexts.outputs);
  multiply_blocks(model_.contexts, contexts, rows, products, Component::memory, Component::memory);
  return products;
}

// Ablation: computes the products of the contexts at each step.
void FullyConnected::cache_source_again() {
  for (size_t r = 0; r < distinct_.size(); ++r) {
    const int sentence = distinct_[r].state->sentence;
    if (r == 0 || distinct_[r - 1].state->sentence != sentence)
      Attending::cache_source(&sentence, 1, sources_[sentence].data());
  }
}

// The decoder

// Hypotheses with the same predecessor have equal states and still share its page: compute each state once. With
// watched attention, which is kept per row, every row keeps its own state.
void FullyConnected::find_states(const Step* steps, int count) {
  const auto page = [](const Step& step) { return step.position ? step.state->past.data()[0] : nullptr; };
  const bool merge = on_.equal_states && watched_layer_ < 0;
  distinct_.clear();
  of_.resize((size_t)count);
  for (int r = 0; r < count; ++r) {
    size_t d = distinct_.size();
    for (size_t other = d; merge && other-- && distinct_[other].state->sentence == steps[r].state->sentence;)
      if (page(distinct_[other]) == page(steps[r])) d = other;
    if (d == distinct_.size()) distinct_.push_back(steps[r]);
    of_[r] = (int)d;
  }
  const size_t units = (size_t)model_.units;
  float* states = states_.get(distinct_.size() * units);
  for (const Step& step : distinct_) {
    const float* const before =
        step.position ? (const float*)page(step) : starts_.data() + step.state->sentence * units;
    states = std::copy(before, before + units, states);
  }
}

Inputs FullyConnected::step(const Step* steps, int count) {
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  const size_t units = (size_t)model_.units, wide = 3 * units;
  {
    Timed timed(clock, other);
    find_states(steps, count);
  }
  const int states = (int)distinct_.size();
  if (!on_.source_products) cache_source_again();
  float* from_source = contexts_.get(states * wide);
  attend(distinct_.data(), states, from_source);
  if (!on_.source_products) {
    float* const computed = from_source_.get(states * wide);
    multiply_blocks(model_.contexts, from_source, states, computed, products, other);
    from_source = computed;
  }
  float* const gates = gates_.get(states * wide);
  multiply_blocks(model_.decoder.states, states_.data(), states, gates, products, other);
  pieces_.clear();
  for (int r = 0; r < count; ++r) pieces_.push_back(steps[r].piece);
  enter(*model_.decoder_products, pieces_.data(), count, entering_, entered_, products, other);
  float* const next = next_.get(count * units);
  {
    Timed timed(clock, other);
    float* const inputs = mixed_.get(wide);
    for (int r = 0; r < count; ++r) {
      const float* const state = states_.data() + of_[r] * units;
      float* const row = next + r * units;
      std::copy(state, state + units, row);
      std::copy(entered_[r], entered_[r] + wide, inputs);
      add(from_source + of_[r] * wide, wide, inputs);
      kernels_.gru(inputs, gates + of_[r] * wide, (int)units, row);
      std::copy(row, row + units, (float*)steps[r].state->past.writable(pages_, 0));
    }
  }
  const int outputs = model_.shape.output_units;
  return quantised(on_top(next, count), count, outputs, outputs, nullptr, model_.output_input_scale, other);
}

// The layers above the cell
float* FullyConnected::on_top(float* rows, int count) {
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  for (size_t l = 0; l < model_.layers.size(); ++l) {
    const ConnectedLayer& layer = model_.layers[l];
    const size_t size = (size_t)count * layer.inner.outputs;
    float* const to = layers_[l % 2].get(size);
    multiply_blocks(layer.inner, rows, count, to, products, other, Epilogue::relu);
    if (layer.projection.outputs) {
      multiply_blocks(layer.projection, rows, count, to, products, other, Epilogue::add);
    } else {
      Timed timed(clock, other);
      add(rows, size, to);
    }
    rows = to;
  }
  return rows;
}

}  // namespace nmt
