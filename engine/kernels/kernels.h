// What an instruction set offers: one table of functions, compiled once for each set and chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt {

enum class Type : int32_t { float32, int16, int8 };

constexpr int kPanel = 16;           // channels of a panel of weights
constexpr int kPagePositions = 16;   // positions of a page of keys and values
constexpr int kMostUnits = 8192;     // of a model
constexpr int padded(int channels) { return (channels + kPanel - 1) / kPanel * kPanel; }  // to whole panels
constexpr float kNever = -1e30f;     // the score of a column that may not be chosen; e^kNever is 0

// How a product of many rows is cut into tiles, whose sums stay in registers: as is usually best, with many rows of few
// panels, or with few rows of more panels. Results are the same.
enum class Tile : int32_t { usual, tall, square, count };

// static: a copy compiled for one instruction set must never run on a CPU without it.
static inline size_t element_bytes(Type type) { return type == Type::float32 ? 4 : type == Type::int16 ? 2 : 1; }

// A matrix product's weights. panels: [outputs / 16][inputs / g][16][g], where g elements have 4 bytes (kernels/dots.h).
struct Linear {
  Type type = Type::float32;
  int inputs = 0;   // a multiple of 16
  int outputs = 0;  // a multiple of 16
  const char* panels = nullptr;     // aligned to 64 bytes
  const float* scale = nullptr;     // of the weights of each channel; 1 in float32
  const int32_t* offset = nullptr;  // -128 x the sum of the channel's weights, for inputs with 128 added; int8 only
  const float* bias = nullptr;
  Tile tile = Tile::usual;
  float input_scale = 0;  // of all rows of inputs, if it was calibrated; 0: each row has its own
  int number = 0;         // of the product in its model
  const char* rows = nullptr;  // [outputs][inputs], to be packed for every product, where there are no panels
};

// Of a row of inputs, and of a channel's weights.
static inline size_t row_bytes(const Linear& weights) { return (size_t)weights.inputs * element_bytes(weights.type); }

// The inputs of a product: rows of the type of its weights.
struct Inputs {
  const char* rows = nullptr;      // [rows][inputs]
  const float* scale = nullptr;    // of each row; unused in float32
  bool shifted = false;            // int8: 128 was added to signed values; else they are unsigned
};

enum class Into { store, relu, add };

// Where a product goes. maxima: with relu, [rows][16], of which the largest is the largest value of a row among the
// columns that were computed.
struct Outputs {
  float* rows = nullptr;
  int stride = 0;  // floats from row to row
  Into into = Into::store;
  float* maxima = nullptr;
};

struct Norm {
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
};

// Where rows of activations are written in the type of the next product.
struct Quantized {
  char* rows = nullptr;
  float* scale = nullptr;
  float fixed = 0;  // the scale of all rows, with which larger values are cut off; 0: by each row's largest value
};

// Keys and values of one sentence or hypothesis in one layer. A page holds 16 positions: keys [head][channel][16], then
// values [head][16][value channel], in half precision if the model's type is an integer.
struct Cache {
  const char* const* pages = nullptr;
  size_t offset = 0;  // of the layer inside a page, in bytes
  int length = 0;     // positions
};

struct Heads {
  int count = 0;
  int channels = 0;  // of a head, a multiple of 16
  float scale = 0;   // of scores
  bool half = false;  // keys and values in half precision
  int value_channels = 0;  // of a head, a multiple of 16; 0: as many as keys have
};

static inline int value_channels(const Heads& heads) {
  return heads.value_channels ? heads.value_channels : heads.channels;
}
// Of a page.
static inline size_t page_bytes(const Heads& heads) {
  return (size_t)heads.count * (heads.channels + value_channels(heads)) * kPagePositions * (heads.half ? 2 : 4);
}

struct Kernels {
  const char* name;
  const Kernels* by_library;  // the same with sigmoid and tanh of the C library; there null

  // rows x inputs times the weights, plus bias; columns: outputs to compute, from panel first.
  void (*product)(const Linear&, const Inputs&, int rows, int first_panel, int last_panel, const Outputs&);

  // Layer normalisation of rows of `units`, then the type of the next product. normalised: where the normalised rows
  // are kept in float32, too, or null.
  void (*normalise)(const float* rows, int count, int units, const Norm&, Type, const Quantized&, float* normalised);
  // The type of the next product. stride: floats from row to row. maxima: of rows that relu made (Outputs), or null.
  void (*quantise)(const float* rows, int count, int units, int stride, Type, const Quantized&, const float* maxima);

  // A panel of 16 rows of a matrix: [16][groups] of 4 bytes to [groups][16]. groups: a multiple of 4.
  void (*interleave)(const char* const* rows, int groups, char* panel);

  // to = factor * (scale * row) + position, for a row of an embedding of this type.
  void (*embed)(Type, const char* row, float scale, float factor, const float* position, int units, float* to);

  // Write one position of keys and values, [head][channel] each, into its page.
  void (*remember)(const Heads&, const float* keys, const float* values, int place, char* page);
  // Attention of `queries` rows over the same keys and values. stride: floats between queries, and between contexts.
  // weights: [queries][head][16 * pages] or null. scratch: floats for 2 x 16 x pages.
  void (*attend)(const Heads&, const float* queries, int count, int stride, const Cache&, float* contexts,
                 int context_stride, float* weights, float* scratch);
  // The same with additive scores (Bahdanau et al. 2015): the sum over channels of combination * tanh(query + key).
  void (*attend_additive)(const Heads&, const float* combination, const float* queries, int count, int stride,
                          const Cache&, float* contexts, int context_stride, float* weights, float* scratch);

  // Element-wise parts of averaging and recurrent layers; units: a multiple of 16.
  // sum += row, and the mean, share x sum, is stored or added.
  void (*average)(const float* row, float* sum, float share, int units, bool add, float* to);
  // x * sigmoid(x), and tanh, in place. stride: floats from row to row.
  void (*swish)(float* rows, int count, int units, int stride);
  void (*tangents)(float* rows, int count, int units, int stride);
  // row += first * sigmoid(first_gate) + second * sigmoid(second_gate).
  void (*add_gated)(const float* first, const float* first_gate, const float* second, const float* second_gate,
                    int units, float* row);
  // gates: [2][units], of the share f that is kept, and what is new: cell = f cell + (1 - f) new; row += relu(cell).
  void (*simple_recurrence)(const float* gates, float* cell, int units, float* row);
  // inputs, states: products of the input and of the state. Of an LSTM, [4][units]: of what enters, what is kept, what is
  // new and what is shown (Hochreiter and Schmidhuber 1997).
  void (*lstm)(const float* inputs, const float* states, int units, float* cell, float* output);
  // Of a GRU, [3][units]: of what is kept, of the reset, and what is new: tanh(input + reset * state) (Cho et al. 2014,
  // with the reset behind the product).
  void (*gru)(const float* inputs, const float* states, int units, float* state);

  // The scores of some columns, in `to`, padded with kNever to a multiple of 16.
  void (*pick)(const float* scores, const int32_t* columns, int count, float* to);
  // The column of the highest score, the first of equals. columns, here and below: a multiple of 16.
  int (*best)(const float* scores, int columns);
  // log of the sum of e^score.
  float (*log_sum)(const float* scores, int columns);
  // The `most` best columns, best first, the first of equals before others; returns how many are above kNever.
  int (*top)(const float* scores, int columns, int most, float* values, int32_t* places);
  // Which of the 16 places from `said` on go on with the `size` pieces of `ending`: a bit for each.
  uint32_t (*repeats)(const int32_t* said, const int32_t* ending, int size);
};

// The table for the widest set that this CPU has, or for the one that NMT_ISA names: portable, avx2, avx512 or
// avx512vnni. Throws Error for a name that is unknown, and for a set that the CPU lacks.
const Kernels& kernels();
// The names of the sets that this CPU has, narrowest first, separated by spaces.
const char* available_sets();

}  // namespace nmt
