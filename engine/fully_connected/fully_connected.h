// The steps of a recurrent model with fully connected layers on top.
#pragma once

#include "conditional/attending.h"
#include "fully_connected/fully_connected_model.h"

namespace nmt {

class FullyConnected : public Attending {
 public:
  explicit FullyConnected(const FullyConnectedModel& model);

  void encode(const std::vector<std::vector<int32_t>>& sentences) override;
  Inputs step(const Step* rows, int count) override;

 private:
  void cache_source(const int* sentences, int count, const float* contexts) override;
  const float* values(const float* contexts, int rows) override;
  void cache_source_again();
  void find_states(const Step* steps, int count);
  float* on_top(float* rows, int count);

  const FullyConnectedModel& model_;
  std::vector<std::vector<float>> sources_;  // contexts of each sentence, if their products are not kept
  std::vector<Step> distinct_;               // one row per distinct state of a step
  std::vector<int> of_;                      // index into distinct_ of each row
  std::vector<int32_t> pieces_;
  std::vector<const float*> entered_;  // products of pieces_
  Buffer<float> values_, entering_, from_source_, next_, layers_[2];
};

}  // namespace nmt
