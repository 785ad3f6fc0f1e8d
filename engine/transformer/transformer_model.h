// The layers of a Transformer (Vaswani et al. 2017); its decoder may replace self-attention.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/model.h"

namespace nmt {

struct Attention {
  Linear queries;  // in self-attention: queries, keys and values
  Linear memory;   // in encoder-decoder attention: keys and values of the encoder's output
  Linear output;
  Norm norm;
};

struct FeedForward {
  Linear inner, outer;
  Norm norm;
  bool swish = false;  // x * sigmoid(x) instead of relu
};

// Average attention (Zhang et al. 2018): the mean of all inputs so far, with or without a feed-forward layer and gates.
// Absent products have no outputs.
struct Averaging {
  FeedForward feed_forward;
  Linear input_gate, mean_gate;
};

// Simpler simple recurrent unit (SSRU; Kim et al. 2019): forget gate and candidate depend on the input alone.
// gates: forget gate, then candidate.
struct SimpleRecurrence {
  Linear gates;
  Norm norm;
};

struct EncoderLayer {
  Attention self;
  FeedForward feed_forward;
};

// How a decoder layer reads the target's past.
enum class History { self_attention, averaging, simple_recurrence };

struct DecoderLayer {
  Attention self;  // or one of the next two, depending on Model::history
  Averaging averaging;
  SimpleRecurrence recurrence;
  Attention source;
  FeedForward feed_forward;
};

class TransformerModel : public Model {
 public:
  explicit TransformerModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  int units = 0, feed_forward_units = 0;
  int encoder_heads = 0, decoder_heads = 0;
  int encoder_head_units = 0, decoder_head_units = 0;  // padded with zeros to multiples of 16
  float encoder_scale = 0, decoder_scale = 0;          // factors of scores
  bool pre_norm = true;
  History history = History::self_attention;
  std::vector<EncoderLayer> encoder;
  std::vector<DecoderLayer> decoder;
  Norm encoder_norm, decoder_norm;  // after the last layers, with pre_norm

  // The encoding of a position, [units]: from the file, or sines, computed on first use.
  const float* position(int number) const {
    if (positions_) return positions_ + (size_t)number * units;
    const int block = number / kSinusoids;
    if (!computed_[block].load(std::memory_order_acquire)) compute_positions(block);
    return sinusoids_.data() + (size_t)number * units;
  }

 private:
  void read_shape();
  Norm norm(const std::string& name) const { return Model::norm(name, units, epsilon_); }
  Attention attention(const std::string& name, int width, bool of_source);
  FeedForward feed_forward(const std::string& name, int inner_units, bool swish);
  Averaging averaging(const std::string& name);
  std::vector<Linear*> linears() override;
  void read_positions();
  void compute_positions(int block) const;

  static constexpr int kSinusoids = 64, kBlocks = 64;  // positions per block of sines, and blocks at most

  float epsilon_ = 0;
  bool swish_ = false;
  const float* positions_ = nullptr;  // from the file
  mutable Buffer<float> sinusoids_;
  mutable std::atomic<bool> computed_[kBlocks] = {};
  mutable std::mutex computing_;
};

}  // namespace nmt
