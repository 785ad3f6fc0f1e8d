// The layers of a Transformer (Vaswani et al. 2017), whose decoder may look back in other ways than by self-attention.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/model.h"

namespace nmt {

struct Attention {
  Linear queries;             // in self-attention of queries, keys and values together
  Linear memory;              // keys and values of the encoder's output; of encoder-decoder attention
  Linear output;
  Norm norm;
};

struct FeedForward {
  Linear inner, outer;
  Norm norm;
  bool swish = false;  // x * sigmoid(x) in place of relu
};

// The mean of all inputs so far, with a feed-forward layer and gates of it and of the input, or without (Zhang et al.
// 2018). Products that it lacks have no outputs.
struct Averaging {
  FeedForward feed_forward;
  Linear input_gate, mean_gate;
};

// A cell that forgets a share of itself at each step: the share and what replaces it depend on the input alone (Kim et
// al. 2019, SSRU). gates: of the share, then of the new part.
struct SimpleRecurrence {
  Linear gates;
  Norm norm;
};

struct EncoderLayer {
  Attention self;
  FeedForward feed_forward;
};

// How a layer of the decoder looks back at what was said.
enum class History { self_attention, averaging, simple_recurrence };

struct DecoderLayer {
  Attention self;  // or one of the next two, as the model's history says
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
  float encoder_scale = 0, decoder_scale = 0;          // of scores
  bool pre_norm = true;
  History history = History::self_attention;
  std::vector<EncoderLayer> encoder;
  std::vector<DecoderLayer> decoder;
  Norm encoder_norm, decoder_norm;  // behind the last layers, with pre_norm

  // The encoding of a position, [units]: that of the file, or sines, which are computed when they are first needed.
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

  static constexpr int kSinusoids = 64, kBlocks = 64;  // positions computed at a time, and how often at most

  float epsilon_ = 0;
  bool swish_ = false;
  const float* positions_ = nullptr;  // of the file
  mutable Buffer<float> sinusoids_;
  mutable std::atomic<bool> computed_[kBlocks] = {};
  mutable std::mutex computing_;
};

}  // namespace nmt
