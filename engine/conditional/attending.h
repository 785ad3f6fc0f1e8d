// The steps that recurrent models with additive attention share: those of the encoder, and the attention.
#pragma once

#include <vector>

#include "conditional/attending_model.h"
#include "model/stateful_network.h"

namespace nmt {

class Attending : public StatefulNetwork {
 public:
  void encode(const std::vector<std::vector<int32_t>>& sentences) override;

 protected:
  // heads: those with the widest values that the network remembers.
  Attending(const AttendingModel& model, const Heads& heads);

  // One step of a cell for rows of states. inputs: of each row, [3][units], or null in a transition.
  void advance(const GatedUnit& cell, const float* const* inputs, int count, float* states, Component products,
               Component other);
  // What is remembered of sentences whose contexts stand one behind the other.
  virtual void remember_source(const int* sentences, int count, const float* contexts);
  // What the attention sums, of some contexts: the contexts themselves.
  virtual const float* values(const float* contexts, int rows);
  // The contexts of states_, one for each step.
  void attend(const Step* steps, int count, float* contexts);

  Heads heads_;
  Buffer<float> mixed_, gates_, states_, contexts_, starts_;

 private:
  void encode_group(const std::vector<std::vector<int32_t>>& sentences, const int* group, int count);
  void run(const Transitions& cells, bool reversed, int count, float* contexts);
  void begin(const int* group, int count, const float* contexts);

  const AttendingModel& model_;
  std::vector<int> order_;             // sentences of the batch, longest first
  std::vector<int> offsets_;           // first row of each sentence of a group
  std::vector<int32_t> pieces_;        // of a group
  std::vector<const float*> entered_;  // their products
  std::vector<const float*> inputs_;   // of one step
  Buffer<float> means_, sum_;
};

}  // namespace nmt
