// A loaded model: weights in place, read by any number of workers at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "model/buffer.h"
#include "model/safetensors.h"

namespace nmt {

// A matrix whose rows are looked up or gathered: [entries][units], of the model's type.
struct Rows {
  int entries = 0;  // a multiple of 16, padded with zeros
  const char* rows = nullptr;
  const float* scale = nullptr;  // of each row

  size_t row_bytes(Type type, int units) const {
    return (size_t)units * element_bytes(type);
  }
};

struct Attention {
  Linear queries;             // in self-attention of queries, keys and values together
  Linear memory;              // keys and values of the encoder's output; of encoder-decoder attention
  Linear output;
  Norm norm;
};

struct FeedForward {
  Linear inner, outer;
  Norm norm;
};

struct EncoderLayer {
  Attention self;
  FeedForward feed_forward;
};

struct DecoderLayer {
  Attention self, source;
  FeedForward feed_forward;
};

// The shape of a model, from the metadata of its file.
struct Shape {
  Type type = Type::float32;
  int units = 0, feed_forward_units = 0, encoder_layers = 0, decoder_layers = 0;
  int encoder_heads = 0, decoder_heads = 0;
  int encoder_head_units = 0, decoder_head_units = 0;  // padded with zeros to multiples of 16
  float encoder_scale = 0, decoder_scale = 0;          // of scores
  int source_pieces = 0, target_pieces = 0;
  int start = 0, end = 0;  // pieces
  bool pre_norm = true, start_from_zero = false;
  float source_factor = 1, target_factor = 1;  // of embeddings
  float epsilon = 0;
};

class Model {
 public:
  explicit Model(const std::string& path);

  // Cuts every product of this many inputs and outputs in this way; call it before there are workers. The output layer
  // has `target_pieces` outputs, whatever the candidates.
  void choose_tile(int inputs, int outputs, Tile tile);
  // Keeps the weights of every product in rows, so that each product packs them, as before weights were packed once; to
  // see what that is worth. The output layer is gathered and packed by batch in any case. Call it before there are workers.
  void unpack();
  // The output layer for all target pieces, packed when it is first needed.
  const Linear& whole_output() const;
  // The output layer for some target pieces, in `panels` and the others.
  void gather_output(const int32_t* pieces, int count, Buffer<char>& panels, Buffer<float>& numbers,
                     Linear& gathered) const;

  Shape shape;
  Rows source_embeddings, target_embeddings, output_rows;
  std::vector<EncoderLayer> encoder;
  std::vector<DecoderLayer> decoder;
  std::vector<std::string> products;  // their names by number; the output layer is the last
  float output_input_scale = 0;       // of the output layer (Linear::input_scale)
  Norm encoder_norm, decoder_norm;  // behind the last layers, with pre_norm
  int position_count = 0;

  // The encoding of a position, [units]: that of the file, or sines, which are computed when they are first needed.
  const float* position(int number) const {
    if (positions_) return positions_ + (size_t)number * shape.units;
    const int block = number / kSinusoids;
    if (!computed_[block].load(std::memory_order_acquire)) compute_positions(block);
    return sinusoids_.data() + (size_t)number * shape.units;
  }

 private:
  void read_shape();
  Linear linear(const std::string& name, int outputs, int inputs);
  float input_scale(const std::string& product) const;
  Norm norm(const std::string& name) const;
  Attention attention(const std::string& name, int heads_units, bool of_source);
  FeedForward feed_forward(const std::string& name);
  Rows rows(const std::string& name, int pieces) const;
  std::vector<Linear*> linears();
  void read_positions();
  void compute_positions(int block) const;

  static constexpr int kSinusoids = 64, kBlocks = 64;  // positions computed at a time, and how often at most

  SafeTensors file_;
  const float* positions_ = nullptr;  // of the file
  mutable Buffer<float> sinusoids_;
  mutable std::atomic<bool> computed_[kBlocks] = {};
  mutable std::mutex computing_;
  const float* output_bias_ = nullptr;
  const int32_t* output_offset_ = nullptr;
  Tile output_tile_ = Tile::usual;
  mutable std::once_flag packed_;
  mutable Buffer<char> whole_panels_;
  mutable Buffer<float> whole_numbers_;
  std::vector<Buffer<char>> unpacked_;
  mutable Linear whole_;
};

}  // namespace nmt
