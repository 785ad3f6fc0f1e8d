// The computation of a model by one worker: from sentences to the hidden states of the decoder's steps.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "model/model.h"
#include "model/switches.h"
#include "runtime/buffer.h"
#include "runtime/clock.h"
#include "runtime/pages.h"
#include "runtime/shared_product.h"

namespace nmt {

// A hypothesis in the decoder: its sentence's index in the batch and its past. memory: its own copy of the sentence's
// memory, or empty if it uses the shared one.
struct State {
  int sentence = 0;
  PageTable past, memory;
};

// One row of a step: a hypothesis and its next input.
struct Step {
  State* state;
  int piece;     // the last piece
  int position;  // of the new piece, from 0
};

// Positions rounded up to full pages.
inline int in_pages(int length) { return (length + kPagePositions - 1) / kPagePositions * kPagePositions; }
// Floats of scratch that attention over this many positions needs.
inline size_t scratch_size(int length) { return (size_t)kScratch * (length / kPagePositions + 1); }

class Network {
 public:
  // past_bytes: page size of a hypothesis' past; memory_bytes: page size of a sentence's memory.
  Network(const Model& model, size_t past_bytes, size_t memory_bytes);
  virtual ~Network() = default;

  // Encodes a batch. Sentences have 1 to position_count source pieces; their rows do not depend on other sentences.
  virtual void encode(const std::vector<std::vector<int32_t>>& sentences) = 0;
  // One step of all rows. Returns hidden states in the type of the output layer. Hypotheses of one sentence must be
  // adjacent.
  virtual Inputs step(const Step* rows, int count) = 0;
  // Whether a step may take several rows of a hypothesis: consecutive positions of known pieces.
  virtual bool takes_rows() const = 0;
  // Keeps the attention of a decoder layer, of one head or averaged (head -1); layer -1: of none.
  void watch(int layer, int head) { watched_layer_ = layer, watched_head_ = head; }
  // Takes effect with the next `encode`.
  void use(const Switches& on);
  // Kept attention of a row of the last step: one weight per source position.
  const float* attention(int row) const { return watched_.data() + (size_t)row * watched_stride_; }
  int source_length(int sentence) const { return lengths_[sentence]; }

  // The past of a hypothesis that continues another one.
  void inherit(State& to, const State& from) { to.past.copy(pages_, from.past); }
  // Gives a hypothesis its own copy of another one's memory, or of its sentence's.
  void copy_memory(State& to, const State* from) {
    to.memory.duplicate(memory_pages_, from ? from->memory : memory_[to.sentence]);
  }
  void release(State& state) {
    state.past.clear(pages_);
    state.memory.clear(memory_pages_);
  }
  // After an error: releases all pages, including those of discarded hypotheses.
  virtual void reset();

  // The decoder's products, also used by the output layer.
  SharedProduct product;
  Clock clock;

 protected:
  void multiply(const Linear& weights, const Inputs& inputs, int count, const Outputs& to, Component component);
  // Converts rows to the type of a product. maxima: from relu, or null. scale: Linear::input_scale of the product.
  Inputs quantised(const float* rows, int count, int units, int stride, const float* maxima, float scale,
                   Component component);
  // Attention of a step's rows over their sources. Calls attend(row, rows, cache, weights, scratch) for the rows from
  // `row` on that have the same memory. weights: [rows][heads][length, padded to pages], kept if the layer is watched;
  // otherwise null. offset: bytes from the start of a page to the layer.
  template <class F>
  void attend_source(const Step* steps, int count, int layer, int heads, size_t offset, F attend) {
    Timed timed(clock, Component::encoder_decoder_attention);
    const bool watching = layer == watched_layer_;
    if (watching) watch_rows(steps, count);
    for (int r = 0; r < count;) {
      const int length = lengths_[steps[r].state->sentence], same = sharing(steps, r, count);
      const size_t row_weights = (size_t)heads * in_pages(length);
      float* const weights = watching ? weights_.get((size_t)same * row_weights) : nullptr;
      attend(r, same, Cache{memory_of(*steps[r].state).data(), offset, length}, weights, scratch(length));
      for (int row = 0; watching && row < same; ++row)
        keep_attention(weights + (size_t)row * row_weights, heads, r + row, length);
      r += same;
    }
  }
  float* scratch(int length);

  Switches on_;
  Kernels kernels_;
  const Type type_;
  Pages pages_, memory_pages_;
  std::vector<PageTable> memory_;  // of each sentence of the batch
  std::vector<int> lengths_;
  Buffer<float> scales_, scratch_;
  Buffer<char> integers_;
  int watched_layer_ = -1;

 private:
  // The memory of a hypothesis.
  const PageTable& memory_of(const State& state) const {
    return state.memory.empty() ? memory_[state.sentence] : state.memory;
  }
  // Number of rows from here on with the same memory: those of the sentence, unless they have copies.
  int sharing(const Step* steps, int row, int count) const;
  // Makes room for the kept attention of a step.
  void watch_rows(const Step* steps, int count);
  // Stores the attention weights of a row, [heads][length, padded to pages].
  void keep_attention(const float* weights, int heads, int row, int length);

  Buffer<float> weights_;
  std::vector<float> watched_;
  size_t watched_stride_ = 0;
  int watched_head_ = -1;
};

}  // namespace nmt
