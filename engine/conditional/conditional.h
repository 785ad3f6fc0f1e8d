// The steps of a recurrent model with a conditional decoder.
#pragma once

#include <vector>

#include "conditional/conditional_model.h"
#include "model/network.h"

namespace nmt {

class Conditional : public Network {
 public:
  explicit Conditional(const ConditionalModel& model);

  void encode(const std::vector<std::vector<int32_t>>& sentences) override;
  Inputs step(const Step* rows, int count) override;
  bool takes_rows() const override { return false; }

 private:
  void encode_group(const std::vector<std::vector<int32_t>>& sentences, const int* group, int count);
  void run(const Transitions& cells, bool reversed, int count, float* contexts);
  void advance(const GatedUnit& cell, const float* inputs, int count, float* states, Component products,
               Component other);
  void remember_source(const int* group, int count, const float* contexts);
  void begin(const int* group, int count, const float* contexts);
  void multiply_blocks(const Linear& weights, const float* rows, int count, float* to, Component products,
                       Component other);
  void embed(const Rows& embeddings, int piece, float factor, float* to);
  void attend(const Step* steps, int count, float* contexts);

  const ConditionalModel& model_;
  const Heads heads_;
  std::vector<int> order_;    // sentences of the batch, longest first
  std::vector<int> offsets_;  // first row of each sentence of a group
  std::vector<float> nothing_;  // in place of positions, which there are none of
  Buffer<float> embedded_, entering_, mixed_, gates_, states_, contexts_, means_, starts_, parts_, hidden_;
};

}  // namespace nmt
