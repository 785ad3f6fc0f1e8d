// The layers of a Transformer (Vaswani et al. 2017); its decoder may replace self-attention.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/model.h"
#include "transformer/relative_positions.h"

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
  Activation activation = Activation::relu;
  bool gated = false;  // half of the inner outputs, the second, are linear factors of the others
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

enum class Side { source, target };

class TransformerModel : public Model {
 public:
  explicit TransformerModel(std::unique_ptr<SafeTensors> file);
  std::unique_ptr<Network> network() const override;

  int units = 0;
  int encoder_heads = 0, decoder_heads = 0;
  int encoder_head_units = 0, decoder_head_units = 0;  // padded with zeros to multiples of 16
  float encoder_scale = 0, decoder_scale = 0;          // factors of scores
  bool pre_norm = true;
  History history = History::self_attention;
  std::vector<EncoderLayer> encoder;
  std::vector<DecoderLayer> decoder;
  // Absent norms have no scale.
  Norm encoder_norm, decoder_norm;                      // after the last layers
  Norm encoder_embedding_norm, decoder_embedding_norm;  // of embeddings with their positions

  RelativePositions encoder_relative, decoder_relative;  // of self-attention in all layers

  // The encoding of a position of a side, [units]: from the file, zeros, or sines, computed on first use.
  const float* position(Side side, int number) const {
    if (const float* const stored = positions_[(int)side]) return stored + (size_t)number * units;
    if (!zeros_.empty()) return zeros_.data();
    const int block = number / kSinusoids;
    if (!computed_[block].load(std::memory_order_acquire)) compute_positions(block);
    return sinusoids_.data() + (size_t)number * units;
  }

 private:
  void read_shape();
  void read_layers();
  Activation read_activation() const;
  Norm norm(const std::string& name) const;
  Attention attention(const std::string& name, int width, bool of_source);
  FeedForward feed_forward(const std::string& name, int inner_units, Activation activation, bool gated);
  Averaging averaging(const std::string& name);
  std::vector<Linear*> linears() override;
  bool flag(const char* key, bool otherwise) const;
  int choice(const char* key, std::initializer_list<const char*> names) const;
  void read_positions();
  void read_relative_positions();
  const float* stored_positions(const std::string& name);
  void compute_positions(int block) const;

  static constexpr int kSinusoids = 64, kBlocks = 64;  // positions per block of sines, and blocks at most

  float epsilon_ = 0;
  bool root_mean_square_ = false;   // norms have no mean and no bias
  const float* positions_[2] = {};  // of each side, from the file
  std::vector<float> zeros_;        // of a model without positions
  mutable Buffer<float> sinusoids_;
  mutable std::atomic<bool> computed_[kBlocks] = {};
  mutable std::mutex computing_;
};

}  // namespace nmt
