// The steps of a recurrent model.
#pragma once

#include <vector>

#include "model/stateful_network.h"
#include "recurrent/recurrent_model.h"

namespace nmt {

class Recurrent : public StatefulNetwork {
 public:
  explicit Recurrent(const RecurrentModel& model);

  void encode(const std::vector<std::vector<int32_t>>& sentences) override;
  Inputs step(const Step* rows, int count) override;

 private:
  void order(const std::vector<std::vector<int32_t>>& sentences);
  int active(int step) const { return starts_[step + 1] - starts_[step]; }
  int place(int rank, int step, size_t direction) const;
  void encode_direction(const std::vector<std::vector<int32_t>>& sentences, size_t direction);
  void encode_layer(size_t direction, size_t layer, float* outputs);
  void start_decoder();
  void remember_source();
  void multiply_inputs(const Cell& cell, const float* rows, int count, Component products, Component other);
  void point_to_gates(int count, int width);
  void advance(const Cell& cell, const float* const* inputs, float* const* states, int count, Component products,
               Component other);
  float* state(const Step& step);
  void enter_decoder(const Step* steps, int count);
  void source_attention(const Step* steps, int count);
  Inputs hidden(int count);

  const RecurrentModel& model_;
  const Heads heads_;
  std::vector<int> order_;                    // sentence indices, longest first
  std::vector<int> starts_;                   // the first row of each step of the encoder
  std::vector<int> firsts_;                   // the first row of each sentence in the encoder's output
  std::vector<int32_t> pieces_;               // inputs of a step
  std::vector<const float*> inputs_of_;       // input products per row
  std::vector<float*> pages_of_, states_of_;  // per row
  Buffer<float> rows_, gates_, products_, gathered_, states_, outputs_, last_, first_, joined_, hidden_;
};

}  // namespace nmt
