// A loaded model: weights in place, read by any number of workers at once. What all architectures share: the embeddings,
// the output layer, and how products are read. Each architecture adds its layers, and the network that computes them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "model/buffer.h"
#include "model/safetensors.h"

namespace nmt {

class Network;

// A matrix whose rows are looked up or gathered: [entries][units], of the model's type.
struct Rows {
  int entries = 0;  // a multiple of 16, padded with zeros
  const char* rows = nullptr;
  const float* scale = nullptr;  // of each row

  size_t row_bytes(Type type, int units) const {
    return (size_t)units * element_bytes(type);
  }
};

// What the metadata of every model say.
struct Shape {
  Type type = Type::float32;
  int source_units = 0, target_units = 0;  // of embeddings
  int output_units = 0;                    // inputs of the output layer
  int attention_layers = 0, attention_heads = 0;  // of the decoder over the source
  int source_pieces = 0, target_pieces = 0;
  int start = 0, end = 0;  // pieces
  bool start_from_zero = false;
  float source_factor = 1, target_factor = 1;  // of embeddings
};

class Model {
 public:
  // A model of the architecture that the file names. Throws Error for a file that is none.
  static std::unique_ptr<Model> open(const std::string& path);
  virtual ~Model() = default;
  // The computation of one worker.
  virtual std::unique_ptr<Network> network() const = 0;

  // Cuts every product of this many inputs and outputs in this way; call it before there are workers. The output layer
  // has `target_pieces` outputs, whatever the candidates.
  void choose_tile(int inputs, int outputs, Tile tile);
  // Keeps the weights of every product in rows, so that each product packs them, as before weights were packed once; to
  // see what that is worth. With a map the output layer is gathered and packed by batch in any case, without one
  // it is packed once. Call it before there are workers.
  void unpack();
  // The output layer for all target pieces, packed when it is first needed.
  const Linear& whole_output() const;
  // The output layer for some target pieces, in `panels` and the others.
  void gather_output(const int32_t* pieces, int count, Buffer<char>& panels, Buffer<float>& numbers,
                     Linear& gathered) const;

  Shape shape;
  Rows source_embeddings, target_embeddings, output_rows;
  std::vector<std::string> products;  // their names by number; the output layer is the last
  float output_input_scale = 0;       // of the output layer (Linear::input_scale)
  int position_count = 0;             // pieces that a sentence may have, and a translation

 protected:
  // Reads what the metadata of every model say. Throws Error for a file that the engine cannot use.
  explicit Model(std::unique_ptr<SafeTensors> file);
  int count(const char* key, int64_t least, int64_t most) const { return (int)file_->integer(key, least, most); }
  // A number of units: a multiple of 16.
  int units(const char* key, int most = kMostUnits) const;
  Linear linear(const std::string& name, int outputs, int inputs);
  Norm norm(const std::string& name, int units, float epsilon) const;
  // Reads embeddings and output layer, whose sizes are in the shape by now. Call it after all other products are read.
  void read_pieces();
  virtual std::vector<Linear*> linears() = 0;  // all products but the output layer

  std::unique_ptr<SafeTensors> file_;

 private:
  float input_scale(const std::string& product) const;
  Rows rows(const std::string& name, int pieces, int units) const;

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
