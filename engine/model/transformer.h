// The computation of a Transformer by one worker: sentences in, hidden states of the decoder's steps out.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "model/buffer.h"
#include "model/clock.h"
#include "model/model.h"
#include "model/pages.h"
#include "model/shared_product.h"

namespace nmt {

// A hypothesis, as the decoder sees it: its sentence's place in the batch and its own keys and values. memory: a copy of
// those of the encoder's output, or empty, where it uses those of its sentence.
struct State {
  int sentence = 0;
  PageTable pages, memory;
};

// What a step decodes: one row for each hypothesis that is alive.
struct Step {
  State* state;
  int piece;     // that was said last
  int position;  // of the new piece, from 0
};

class Transformer {
 public:
  explicit Transformer(const Model& model);

  // Encode a batch; sentences hold pieces of the source vocabulary, at least one each and at most position_count.
  // Rows of a sentence do not depend on the other sentences.
  void encode(const std::vector<std::vector<int32_t>>& sentences);
  // One step of all rows. Returns the hidden states, in the type of the output layer. Hypotheses of one sentence must
  // stand side by side. A hypothesis may have several rows, of consecutive positions: pieces that are known beforehand.
  Inputs step(const Step* rows, int count);
  // Keep the attention of a layer of the decoder, averaged over heads or of one head (-1: averaged); -1: of none.
  void watch(int layer, int head) { watched_layer_ = layer, watched_head_ = head; }
  // The attention of a row of the last step: one weight for each source position.
  const float* attention(int row) const { return watched_.data() + (size_t)row * watched_stride_; }
  // Gives a hypothesis its own copy of the memory of another one, or of its sentence.
  void copy_memory(State& to, const State* from) {
    to.memory.duplicate(pages_, from ? from->memory : memory_[to.sentence]);
  }
  int source_length(int sentence) const { return lengths_[sentence]; }

  // The products of this decoder, for the output layer as well.
  SharedProduct product;
  Pages& pages() { return pages_; }
  // After an error: let go of all keys and values, also those of hypotheses that nobody has any more.
  void forget();
  Clock clock;

 private:
  void encode_chunk(const std::vector<std::vector<int32_t>>& sentences, int first, int last);
  void encoder_attention(const EncoderLayer& layer, int first, int last, float* rows);
  void shared_attention(const Heads& heads, const float* queries, int count, int stride, const Cache& cache,
                        float* contexts, int context_stride);
  void feed_forward(const FeedForward& weights, float* rows, int count, Component products, Component other);
  void remember_source(int first, const float* rows, int count);
  Inputs normalised(const Norm& norm, const float* rows, int count, float scale, Component component);
  Inputs prepared(const Norm& norm, const float* rows, int count, float scale, Component component);
  Inputs quantised(const float* rows, int count, int units, int stride, const float* maxima, float scale,
                   Component component);
  void add(const Linear& weights, const Inputs& inputs, int count, float* rows, const Norm& norm, Component products,
           Component other);
  void multiply(const Linear& weights, const Inputs& inputs, int count, const Outputs& to, Component component);
  void self_attention(size_t offset, const Step* steps, int count);
  void source_attention(int layer, const Step* steps, int count);
  void keep_attention(const Heads& heads, const float* weights, int row, int length);
  float* scratch(int length);
  size_t layer_bytes() const;

  const Model& model_;
  const Shape& shape_;
  const Kernels& kernels_;
  const Type type_;
  Heads encoder_heads_, decoder_heads_;
  Pages pages_, encoder_pages_;
  std::vector<PageTable> memory_;  // of each sentence of the batch, in all layers of the decoder
  std::vector<int> lengths_;
  PageTable own_;                  // of one sentence in one layer of the encoder
  Buffer<float> rows_, mixed_, contexts_, hidden_, maxima_, scales_, scratch_, weights_;
  Buffer<char> integers_;
  std::vector<float> watched_;
  size_t watched_stride_ = 0;
  int watched_layer_ = -1, watched_head_ = -1;
};

}  // namespace nmt
