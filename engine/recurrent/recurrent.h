// The steps of a recurrent model.
#pragma once

#include <vector>

#include "model/stateful_network.h"
#include "recurrent/recurrent_model.h"

namespace nmt {

class Recurrent : public StatefulNetwork {
 public:
  explicit Recurrent(const RecurrentModel& model);

  Inputs step(const Step* rows, int count) override;

 private:
  void encode_group() override;
  void encode_direction(size_t direction);
  void encode_layer(size_t direction, size_t layer, float* outputs, size_t stride);
  void start_decoder();
  void cache_source();
  void multiply_inputs(const Cell& cell, const float* rows, int count, Component products, Component other);
  void point_to_gates(int count, int width);
  void advance(const Cell& cell, const float* const* inputs, float* const* states, int count, Component products,
               Component other);
  float* state(const Step& step);
  void enter_decoder(const Step* steps, int count);
  void source_attention(const Step* steps, int count);
  Inputs hidden(int count);

  const RecurrentModel& model_;
  const HeadShape heads_;
  std::vector<int32_t> pieces_;               // inputs of a step
  std::vector<const float*> inputs_of_;       // input products per row
  std::vector<float*> pages_of_, states_of_;  // per row
  Buffer<float> rows_, gates_, products_, gathered_, states_, outputs_, last_, first_, joined_, hidden_;
};

}  // namespace nmt
