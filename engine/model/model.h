// A loaded model: memory-mapped weights, read by any number of workers. The base of all architectures holds embeddings,
// output layer and the reading of products; an architecture adds its layers and its network.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/buffer.h"
#include "runtime/safetensors.h"

namespace nmt {

class Network;

// A matrix whose rows are looked up or gathered: [entries][units], in the model's type.
struct Rows {
  int entries = 0;  // a multiple of 16, padded with zeros
  const char* rows = nullptr;
  const float* scale = nullptr;  // per row

  size_t row_bytes(Type type, int units) const { return (size_t)units * element_bytes(type); }
};

// Metadata that every model has.
struct Shape {
  Type type = Type::float32;
  int source_units = 0, target_units = 0;         // of embeddings
  int output_units = 0;                           // input width of the output layer
  int attention_layers = 0, attention_heads = 0;  // of the decoder over the source
  int source_pieces = 0, target_pieces = 0;
  int start = 0, end = 0;  // pieces
  bool start_from_zero = false;
  float source_factor = 1, target_factor = 1;  // of embeddings
};

class Model {
 public:
  virtual ~Model() = default;
  // A new network, for one worker.
  virtual std::unique_ptr<Network> network() const = 0;

  // Held by everyone who reads the model, so that nobody changes it meanwhile.
  std::shared_ptr<const void> use() const { return use_; }
  // Sets the tile of every product with these inputs and outputs. The output layer counts as `target_pieces` outputs,
  // whatever the candidates. Throws Error if the model is in use.
  void choose_tile(int inputs, int outputs, Tile tile);
  // Sets Linear::tiled_rows of the same products.
  void choose_tiled_rows(int inputs, int outputs, int rows);
  // Sets source_texts and target_texts. Throws Error for another number of pieces, and if the model is in use.
  void end_loops(std::vector<std::string> source, std::vector<std::string> target);
  // Ablation: keeps weights in rows, so that every product packs them again. The output layer is excepted: with a map
  // it is gathered and packed per batch anyway, without one it is packed once. Throws Error if the model is in use.
  void unpack();
  // The output layer for all target pieces, packed on first use.
  const Linear& whole_output() const;
  // The output layer for some target pieces, stored in the buffers.
  void gather_output(const int32_t* pieces, int count, Buffer<char>& panels, Buffer<float>& numbers,
                     Linear& gathered) const;

  Shape shape;
  Rows source_embeddings, target_embeddings, output_rows;
  std::vector<std::string> products;  // names by index; the output layer is the last
  float output_input_scale = 0;       // Linear::input_scale of the output layer
  int position_count = 0;             // maximum length of a sentence or translation in pieces
  // The text of each piece in lower case, with a space where a word begins, in which loops are sought (search/loops.h).
  // Empty: loops do not end translations.
  std::vector<std::string> source_texts, target_texts;

 protected:
  // Reads the metadata that every model has. Throws Error for a file that the engine cannot use.
  explicit Model(std::unique_ptr<SafeTensors> file);
  int count(const char* key, int64_t least, int64_t most) const { return (int)file_->integer(key, least, most); }
  // A width: a multiple of 16.
  int units(const char* key, int most = kMostUnits) const;
  Linear linear(const std::string& name, int outputs, int inputs);
  Norm norm(const std::string& name, int units, float epsilon) const;
  // Reads embeddings and output layer, whose widths must be in the shape. Call it after reading all other products.
  void read_pieces();
  virtual std::vector<Linear*> linears() = 0;  // all products except the output layer

  std::unique_ptr<SafeTensors> file_;

 private:
  void require_unused() const;
  float input_scale(const std::string& product) const;
  const int32_t* offset(const std::string& product, size_t outputs, int inputs, Type type) const;
  void require_bounded(const std::string& name, const char* panel, int inputs, Type type) const;
  Rows rows(const std::string& name, int pieces, int units) const;

  const std::shared_ptr<const void> use_ = std::make_shared<char>();
  const float* output_bias_ = nullptr;
  const int32_t* output_offset_ = nullptr;
  Tile output_tile_ = Tile::usual;
  int output_tiled_rows_ = 0;
  mutable std::once_flag packed_;
  mutable Buffer<char> whole_panels_;
  mutable Buffer<float> whole_numbers_;
  std::vector<Buffer<char>> unpacked_;
  mutable Linear whole_;
};

}  // namespace nmt
