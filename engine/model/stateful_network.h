// Base of networks whose steps need the previous state: the order in which their encoders read sentences, and the input
// products of their cells.
#pragma once

#include <algorithm>
#include <vector>

#include "model/network.h"
#include "model/piece_products.h"

namespace nmt {

// Sentences that are encoded together, longest first: in each step, those that have not ended are the first. Their pieces
// are rows, sentence after sentence.
struct Group {
  std::vector<int> sentences;   // indices in the batch
  std::vector<int> offsets;     // the first row of each sentence, and the number of rows
  std::vector<int32_t> pieces;  // per row

  int count() const { return (int)sentences.size(); }
  int rows() const { return offsets.back(); }
  int length(int rank) const { return offsets[rank + 1] - offsets[rank]; }
  // The row that a sentence reads at a step.
  size_t row(int rank, int step, bool backward) const {
    return (size_t)(backward ? offsets[rank + 1] - 1 - step : offsets[rank] + step);
  }
};

class StatefulNetwork : public Network {
 public:
  void encode(const std::vector<std::vector<int32_t>>& sentences) override;
  bool takes_rows() const override { return false; }

 protected:
  // group_size: how many sentences are encoded together at most.
  StatefulNetwork(const Model& model, size_t past_bytes, size_t memory_bytes, int group_size)
      : Network(model, past_bytes, memory_bytes), group_size_((size_t)group_size) {}

  // Encodes group_.
  virtual void encode_group() = 0;
  // Reads group_ with a recurrent layer. In each step calls advance(inputs, count) for the first `count` sentences, which
  // computes their next states, and stores what the layer outputs, the first `units` floats of a state.
  // inputs: input products per row. states: `state_floats` per sentence. to: `stride` floats per row.
  template <class F>
  void read_group(bool backward, const std::vector<const float*>& inputs, const float* states, size_t state_floats,
                  size_t units, float* to, size_t stride, F advance) {
    step_inputs_.resize((size_t)group_.count());
    int reading = group_.count();
    for (int step = 0;; ++step) {
      while (reading && group_.length(reading - 1) <= step) --reading;
      if (!reading) return;
      for (int rank = 0; rank < reading; ++rank) step_inputs_[rank] = inputs[group_.row(rank, step, backward)];
      advance(step_inputs_.data(), reading);
      for (int rank = 0; rank < reading; ++rank)
        std::copy_n(states + rank * state_floats, units, to + group_.row(rank, step, backward) * stride);
    }
  }

  static constexpr int32_t kNothing = -1;  // stands for a piece whose embedding is zero

  // Products of pieces with an input matrix, [outputs] each: looked up in the table, or computed into `computed`. Both
  // are equal to the last bit.
  void enter(const PieceProducts& table, const int32_t* pieces, int count, Buffer<float>& computed,
             std::vector<const float*>& to, Component products, Component other);
  // [count][outputs], in blocks of rows.
  void multiply_blocks(const Linear& weights, const float* rows, int count, float* to, Component products,
                       Component other, Epilogue epilogue = Epilogue::store);
  void embed(const Rows& embeddings, int units, int piece, float factor, float* to);

  Group group_;

 private:
  const size_t group_size_;
  std::vector<const float*> step_inputs_;
  std::vector<int32_t> missing_;  // pieces that the table lacks
  std::vector<float> nothing_;    // zeros, passed as position encodings
  Buffer<float> embedded_, maxima_;
};

}  // namespace nmt
