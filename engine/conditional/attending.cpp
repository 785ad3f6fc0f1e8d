#include "conditional/attending.h"

#include <algorithm>
#include <numeric>

namespace nmt {
namespace {

constexpr int kGroup = 64;  // sentences encoded together

}  // namespace

// A hypothesis keeps its state, on one page.
Attending::Attending(const AttendingModel& model, const Heads& heads)
    : StatefulNetwork(model, (size_t)model.units * sizeof(float), page_bytes(heads)), heads_(heads), model_(model) {}

void Attending::advance(const GatedUnit& cell, const float* const* inputs, int count, float* states, Component products,
                        Component other) {
  const int units = model_.units;
  const size_t wide = (size_t)3 * units;
  float* const gates = gates_.get((size_t)count * wide);
  const Inputs ready = quantised(states, count, units, units, nullptr, cell.states.input_scale, other);
  multiply(cell.states, ready, count, {gates, 3 * units, Into::store, nullptr}, products);
  Timed timed(clock, other);
  for (int r = 0; r < count; ++r)
    kernels_.gru(inputs ? inputs[r] : cell.constant, gates + r * wide, units, states + (size_t)r * units);
}

// The encoder

void Attending::encode(const std::vector<std::vector<int32_t>>& sentences) {
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

// group: sentences, longest first, so that unfinished ones come first.
void Attending::encode_group(const std::vector<std::vector<int32_t>>& sentences, const int* group, int count) {
  offsets_.assign(1, 0);
  pieces_.clear();
  for (int i = 0; i < count; ++i) {
    pieces_.insert(pieces_.end(), sentences[group[i]].begin(), sentences[group[i]].end());
    offsets_.push_back((int)pieces_.size());
  }
  const int rows = offsets_.back();
  float* const contexts = contexts_.get((size_t)rows * 2 * model_.units);
  for (const bool reversed : {false, true}) {
    const Transitions& cells = reversed ? model_.backward : model_.forward;
    enter(reversed ? *model_.backward_products : *model_.forward_products, pieces_.data(), rows, mixed_, entered_,
          Component::encoder_products, Component::encoder_rows);
    run(cells, reversed, count, contexts + (reversed ? model_.units : 0));
  }
  remember_source(group, count, contexts);
  begin(group, count, contexts);
}

// Runs one direction of the encoder over a group and writes its half of contexts, [rows][2 x units].
void Attending::run(const Transitions& cells, bool reversed, int count, float* contexts) {
  const size_t units = (size_t)model_.units;
  float* const states = states_.get(count * units);
  std::fill(states, states + count * units, 0.f);
  inputs_.resize((size_t)count);
  const auto row = [&](int sentence, int position) {
    return (size_t)(reversed ? offsets_[sentence + 1] - 1 - position : offsets_[sentence] + position);
  };
  int reading = count;  // unfinished sentences
  for (int position = 0;; ++position) {
    while (reading && offsets_[reading] - offsets_[reading - 1] <= position) --reading;
    if (!reading) return;
    for (int i = 0; i < reading; ++i) inputs_[i] = entered_[row(i, position)];
    for (const GatedUnit& cell : cells)
      advance(cell, cell.constant ? nullptr : inputs_.data(), reading, states, Component::encoder_products,
              Component::encoder_rows);
    for (int i = 0; i < reading; ++i)
      std::copy(states + i * units, states + (i + 1) * units, contexts + row(i, position) * 2 * units);
  }
}

const float* Attending::values(const float* contexts, int) { return contexts; }

void Attending::remember_source(const int* sentences, int count, const float* contexts) {
  int rows = 0;
  for (int i = 0; i < count; ++i) rows += lengths_[sentences[i]];
  const float* value = values(contexts, rows);
  const float* key = mixed_.get((size_t)rows * heads_.channels);
  multiply_blocks(model_.attention.keys, contexts, rows, mixed_.data(), Component::memory, Component::memory);
  Timed timed(clock, Component::memory);
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < lengths_[sentences[i]]; ++p, key += heads_.channels, value += value_channels(heads_))
      kernels_.remember(heads_, key, value, p % kPagePositions, memory_[sentences[i]].own(memory_pages_, p));
}

// The decoder's initial state of each sentence.
void Attending::begin(const int* group, int count, const float* contexts) {
  const size_t units = (size_t)model_.units, wide = 2 * units;
  float* const means = means_.get(count * wide);
  float* const sum = sum_.get(wide);
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

void Attending::attend(const Step* steps, int count, float* contexts) {
  const int wide = heads_.channels, value = value_channels(heads_);
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
                             contexts + (size_t)r * value, value, weights, scratch(length));
    for (int row = 0; watching && row < same; ++row)
      keep_attention(weights + (size_t)row * in_pages(length), 1, r + row, length);
    r += same;
  }
}

}  // namespace nmt
