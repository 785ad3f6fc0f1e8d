// The computation of a model by one worker: sentences in, hidden states of the decoder's steps out.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "model/buffer.h"
#include "model/clock.h"
#include "model/model.h"
#include "model/pages.h"
#include "model/shared_product.h"

namespace nmt {

// Rows of a product in encoders and feed-forward layers: a multiple of the rows of AVX2's tiles.
constexpr int kBlock = 60;

// A hypothesis, as the decoder sees it: its sentence's place in the batch and what the network keeps of its past. memory:
// a copy of its sentence's, or empty, where it uses that of its sentence.
struct State {
  int sentence = 0;
  PageTable past, memory;
};

// What a step decodes: one row for each hypothesis that is alive.
struct Step {
  State* state;
  int piece;     // that was said last
  int position;  // of the new piece, from 0
};

// What a network does less often than its formulas say (Devlin 2017): the first in all recurrent ones, the others in those
// with fully connected layers; and polynomials, where he has tables. Without one of them it computes the same, but for
// rounding, so that its worth can be measured.
struct Identities {
  bool piece_products = true;   // of up to 8,000 pieces with the matrices of first layers: looked up
  bool source_products = true;  // for the attention, and of what it sums: once a sentence
  bool equal_states = true;     // hypotheses that differ in their last piece alone: their state's products once
  bool polynomials = true;      // for sigmoid and tanh, in all networks, in place of the C library
};

class Network {
 public:
  // past_bytes: of a page of a hypothesis' past; memory_bytes: of a page of a sentence's memory.
  Network(const Model& model, size_t past_bytes, size_t memory_bytes);
  virtual ~Network() = default;

  // Encode a batch; sentences hold pieces of the source vocabulary, at least one each and at most position_count.
  // Rows of a sentence do not depend on the other sentences.
  virtual void encode(const std::vector<std::vector<int32_t>>& sentences) = 0;
  // One step of all rows. Returns the hidden states, in the type of the output layer. Hypotheses of one sentence must
  // stand side by side.
  virtual Inputs step(const Step* rows, int count) = 0;
  // Whether a step takes several rows of a hypothesis, of consecutive positions: pieces that are known beforehand.
  virtual bool takes_rows() const = 0;
  // Keep the attention of a layer of the decoder, averaged over heads or of one head (-1: averaged); -1: of none.
  void watch(int layer, int head) { watched_layer_ = layer, watched_head_ = head; }
  // From the next `encode` on.
  void use(const Identities& which);
  // The attention of a row of the last step: one weight for each source position.
  const float* attention(int row) const { return watched_.data() + (size_t)row * watched_stride_; }
  int source_length(int sentence) const { return lengths_[sentence]; }

  // The past of a hypothesis that goes on from another one.
  void inherit(State& to, const State& from) { to.past.copy(pages_, from.past); }
  // Gives a hypothesis its own copy of the memory of another one, or of its sentence.
  void copy_memory(State& to, const State* from) {
    to.memory.duplicate(memory_pages_, from ? from->memory : memory_[to.sentence]);
  }
  void release(State& state) {
    state.past.clear(pages_);
    state.memory.clear(memory_pages_);
  }
  // After an error: let go of everything that is kept, also of hypotheses that nobody has any more.
  virtual void forget();

  // The products of this decoder, for the output layer as well.
  SharedProduct product;
  Clock clock;

 protected:
  void multiply(const Linear& weights, const Inputs& inputs, int count, const Outputs& to, Component component);
  // Rows in the type of a product. maxima: of rows that relu made, or null. scale: Linear::input_scale of the product.
  Inputs quantised(const float* rows, int count, int units, int stride, const float* maxima, float scale,
                   Component component);
  // The memory of a hypothesis, of `length` positions.
  const PageTable& memory_of(const State& state) const {
    return state.memory.empty() ? memory_[state.sentence] : state.memory;
  }
  // How many rows from here on attend to the same memory: those of the sentence, unless they have copies.
  int sharing(const Step* steps, int row, int count) const;
  // Room for the watched attention of all rows of a step.
  void watch_rows(const Step* steps, int count);
  // Keeps the weights of a row, [heads][length, padded to pages].
  void keep_attention(const float* weights, int heads, int row, int length);
  float* scratch(int length);

  Identities identities_;
  Kernels kernels_;
  const Type type_;
  Pages pages_, memory_pages_;
  std::vector<PageTable> memory_;  // of each sentence of the batch
  std::vector<int> lengths_;
  Buffer<float> scales_, scratch_, weights_;
  Buffer<char> integers_;
  int watched_layer_ = -1;

 private:
  std::vector<float> watched_;
  size_t watched_stride_ = 0;
  int watched_head_ = -1;
};

// Positions in full pages.
inline int in_pages(int length) { return (length + kPagePositions - 1) / kPagePositions * kPagePositions; }
// Floats that attention needs for scores over this many positions.
inline size_t scratch_size(int length) { return (size_t)2 * (length + 2 * kPagePositions); }

}  // namespace nmt
