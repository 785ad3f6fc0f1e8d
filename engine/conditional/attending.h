// Steps shared by recurrent models with additive attention: the encoder's and the attention's.
#pragma once

#include <vector>

#include "conditional/attending_model.h"
#include "model/stateful_network.h"

namespace nmt {

class Attending : public StatefulNetwork {
 protected:
  // heads: shape of the widest values kept in the memory.
  Attending(const AttendingModel& model, const HeadShape& heads);

  // One step of a cell for rows of states. inputs: input products per row, [3][units]; null in a transition.
  void advance(const GatedUnit& cell, const float* const* inputs, int count, float* states, Component products,
               Component other);
  void encode_group() override;
  // Stores keys and values of consecutive sentences' contexts in the memory.
  virtual void cache_source(const int* sentences, int count, const float* contexts);
  // The values of contexts; by default the contexts themselves.
  virtual const float* values(const float* contexts, int rows);
  // Attention of each state in states_.
  void attend(const Step* steps, int count, float* contexts);

  HeadShape heads_;
  Buffer<float> mixed_, gates_, states_, contexts_, starts_;

 private:
  void encode_direction(bool backward, float* contexts);
  void start_decoder(const float* contexts);

  const AttendingModel& model_;
  std::vector<const float*> entered_;  // input products of a group's rows
  Buffer<float> means_, sum_;
};

}  // namespace nmt
