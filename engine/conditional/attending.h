// Steps shared by recurrent models with additive attention: the encoder's and the attention's.
#pragma once

#include <vector>

#include "conditional/attending_model.h"
#include "model/stateful_network.h"

namespace nmt {

class Attending : public StatefulNetwork {
 public:
  void encode(const std::vector<std::vector<int32_t>>& sentences) override;

 protected:
  // heads: shape of the widest values kept in the memory.
  Attending(const AttendingModel& model, const Heads& heads);

  // One step of a cell for rows of states. inputs: input products per row, [3][units]; null in a transition.
  void advance(const GatedUnit& cell, const float* const* inputs, int count, float* states, Component products,
               Component other);
  // Stores keys and values of consecutive sentences' contexts in the memory.
  virtual void remember_source(const int* sentences, int count, const float* contexts);
  // The values of contexts; by default the contexts themselves.
  virtual const float* values(const float* contexts, int rows);
  // Attention of each state in states_.
  void attend(const Step* steps, int count, float* contexts);

  Heads heads_;
  Buffer<float> mixed_, gates_, states_, contexts_, starts_;

 private:
  void encode_group(const std::vector<std::vector<int32_t>>& sentences, const int* group, int count);
  void run(const Transitions& cells, bool reversed, int count, float* contexts);
  void begin(const int* group, int count, const float* contexts);

  const AttendingModel& model_;
  std::vector<int> order_;             // sentence indices, longest first
  std::vector<int> offsets_;           // first row of each sentence of a group
  std::vector<int32_t> pieces_;        // of a group
  std::vector<const float*> entered_;  // products of pieces_
  std::vector<const float*> inputs_;   // input products of one step
  Buffer<float> means_, sum_;
};

}  // namespace nmt
