// The steps of a Transformer.
#pragma once

#include <vector>

#include "model/network.h"
#include "transformer/transformer_model.h"

namespace nmt {

class Transformer : public Network {
 public:
  explicit Transformer(const TransformerModel& model);

  void encode(const std::vector<std::vector<int32_t>>& sentences) override;
  Inputs step(const Step* rows, int count) override;
  bool takes_rows() const override { return true; }
  void reset() override;

 private:
  void encode_chunk(const std::vector<std::vector<int32_t>>& sentences, int first, int last);
  void encoder_attention(const EncoderLayer& layer, int first, int last, float* rows);
  void shared_attention(const HeadShape& heads, const float* queries, int count, int stride, const Cache& cache,
                        float* contexts, int context_stride);
  void feed_forward(const FeedForward& weights, float* rows, int count, Component products, Component other);
  Inputs hidden(const FeedForward& weights, const Inputs& inputs, int count, Component products, Component other);
  void cache_source(int first, const float* rows, int count);
  Inputs normalised(const Norm& norm, const float* rows, int count, float scale, Component component);
  void normalise(const Norm& norm, float* rows, int count, Component component);
  Inputs final_inputs(const Norm& norm, const float* rows, int count, float scale, Component component);
  Inputs prepared(const Norm& norm, const float* rows, int count, float scale, Component component);
  void add(const Linear& weights, const Inputs& inputs, int count, float* rows, const Norm& norm, Component products,
           Component other);
  void finish(const Norm& norm, int count, float* rows, Component component);
  void project_queries(const Attention& attention, const float* rows, int count, int stride);
  void project_output(const Attention& attention, int count, float* rows);
  void history_layer(size_t layer, const Step* steps, int count, float* rows);
  void self_attention(size_t layer, const Step* steps, int count);
  void averaging(size_t layer, const Step* steps, int count, float* rows);
  void gate(const Averaging& weights, const float* inputs, const float* means, int count, float* rows);
  void simple_recurrence(size_t layer, const Step* steps, int count, float* rows);
  float* cell(size_t layer, const Step& step);
  void source_attention(int layer, const Step* steps, int count);
  size_t layer_bytes() const;

  const TransformerModel& model_;
  const HeadShape encoder_heads_, decoder_heads_;
  Pages encoder_pages_;
  PageTable encoder_table_;  // of one sentence in one encoder layer
  Buffer<float> rows_, mixed_, contexts_, hidden_, maxima_, gates_;
};

}  // namespace nmt
