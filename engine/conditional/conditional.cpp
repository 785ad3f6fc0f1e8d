#include "conditional/conditional.h"

#include <algorithm>

namespace nmt {
namespace {

// One head with keys and values as wide as the encoder's contexts.
HeadShape heads(const ConditionalModel& model) { return {1, 2 * model.units, 1, model.shape.type != Type::float32}; }

}  // namespace

Conditional::Conditional(const ConditionalModel& model) : Attending(model, heads(model)), model_(model) {}

Inputs Conditional::step(const Step* steps, int count) {
  const size_t units = (size_t)model_.units, embedding_units = (size_t)model_.embedding_units;
  const size_t wide = embedding_units + 3 * units;  // piece, state and context of a row
  float* const embedded = last_.get(count * embedding_units);
  float* const states = states_.get(count * units);
  float* const contexts = contexts_.get(count * 2 * units);
  float* const mixed = mixed_.get(count * 3 * units);
  const Buffer<float>::Hold kept(mixed_);  // `enter` and `attend` use its start, too
  pieces_.resize((size_t)count);
  {
    Timed timed(clock, Component::embeddings);
    for (int r = 0; r < count; ++r) {
      const Step& step = steps[r];
      const bool zero = step.position == 0 && model_.shape.start_from_zero;
      embed(model_.target_embeddings, model_.embedding_units, step.piece, zero ? 0 : model_.shape.target_factor,
            embedded + r * embedding_units);
      pieces_[r] = zero ? kNothing : step.piece;
      const float* const before = step.position ? (const float*)step.state->past.writable(pages_, 0)
                                                : starts_.data() + step.state->sentence * units;
      std::copy(before, before + units, states + r * units);
    }
  }
  const auto products = Component::decoder_products, other = Component::decoder_rows;
  for (const GatedUnit& cell : model_.decoder) {
    if (&cell == &model_.decoder[0])
      enter(*model_.decoder_products, pieces_.data(), count, mixed_, inputs_, products, other);
    if (&cell == &model_.decoder[1]) {
      attend(steps, count, contexts);
      multiply_blocks(cell.inputs, contexts, count, mixed, products, other);
      for (int r = 0; r < count; ++r) inputs_[r] = mixed + r * 3 * units;
    }
    advance(cell, cell.constant ? nullptr : inputs_.data(), count, states, products, other);
  }
  float* const parts = parts_.get(count * wide);
  {
    Timed timed(clock, other);
    for (int r = 0; r < count; ++r) {
      const float* const state = states + r * units;
      std::copy(state, state + units, (float*)steps[r].state->past.writable(pages_, 0));
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

}  // namespace nmt
