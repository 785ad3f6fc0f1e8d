// The interface of an instruction set: tables of functions, compiled once per set and chosen at run time. Sets that
// differ in their products only share the rest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt {

// int4 is a type of products only: their inputs, and all else of the model, are int8.
enum class Type : int32_t { float32, int16, int8, int4 };

constexpr int kPanel = 16;                     // channels of a panel of weights
constexpr int kPagePositions = 16;             // positions of a page of keys and values
constexpr int kScratch = 16 * kPagePositions;  // floats of scratch of attention per page
constexpr int kMostUnits = 8192;               // maximum width of a model
constexpr int padded(int channels) { return (channels + kPanel - 1) / kPanel * kPanel; }  // rounded up to whole panels
constexpr int kShortInput = 4095;  // largest magnitude of an int16 input (kernels/dots.h)
#if defined(__wasm__)
constexpr size_t kHalfBytes = 4;  // has no instruction that widens halves: they are kept as floats
#else
constexpr size_t kHalfBytes = 2;
#endif
constexpr float kNever = -1e30f;  // score of a column that may not be chosen; e^kNever is 0

// How a product of many rows is cut into tiles, whose sums stay in registers: the default of the instruction set, tall
// (many rows of few panels), square (few rows of more panels) or the registers of AMX (kernels/tiles.h), which are the
// default of the set that has them. Results are the same.
enum class Tile : int32_t { usual, tall, square, amx, count };

// Bytes of an input, or of a weight of another type than int4.
// static: a copy compiled for one instruction set must never run on a CPU without it.
static inline size_t element_bytes(Type type) { return type == Type::float32 ? 4 : type == Type::int16 ? 2 : 1; }

constexpr int kStepInputs = 32;  // inputs of int4 that share a step

// Weights of a matrix product. panels: [outputs / 16][inputs / g][16][g], g elements being 4 bytes; int4 has two of them
// in a byte (kernels/dots.h).
struct Linear {
  Type type = Type::float32;
  int inputs = 0;                   // a multiple of 16
  int outputs = 0;                  // a multiple of 16
  const char* panels = nullptr;     // aligned to 64 bytes
  const float* scale = nullptr;     // of each channel's weights; unused in float32
  const int32_t* offset = nullptr;  // -128 x the sum of the channel's weights, for inputs with 128 added; int8 and int4
  const int8_t* steps = nullptr;    // int4: [outputs / 16][inputs / 32][16], what weights are multiples of
  const float* bias = nullptr;
  Tile tile = Tile::usual;
  float input_scale = 0;       // calibrated scale of all rows of inputs; 0: each row has its own
  int number = 0;              // index in Model::products
  const char* rows = nullptr;  // ablation: [outputs][inputs] without panels, packed for every product
  int tiled_rows = 0;          // fewest rows of a product on the registers of AMX; 0: kFewestTiled (kernels/tiles.h)
};

// Bytes of a row of inputs.
static inline size_t row_bytes(const Linear& weights) { return (size_t)weights.inputs * element_bytes(weights.type); }
// Bytes of a panel of weights.
static inline size_t panel_bytes(const Linear& weights) {
  return row_bytes(weights) * kPanel / (weights.type == Type::int4 ? 2 : 1);
}

// Input rows of a product, in the type of its weights.
struct Inputs {
  const char* rows = nullptr;    // [rows][inputs]
  const float* scale = nullptr;  // per row; unused in float32
  bool shifted = false;          // bytes: 128 was added to signed values; otherwise values are unsigned
};

// Of feed-forward layers; `gelu` is exact (with the error function), `gelu_tanh` its approximation.
enum class Activation : int32_t { relu, swish, gelu, gelu_tanh, count };

enum class Epilogue { store, relu, add };

// Destination of a product. maxima: with relu, [rows][16]; the largest of the 16 is the maximum of a row over the
// computed columns.
struct Outputs {
  float* rows = nullptr;
  int stride = 0;  // floats per row
  Epilogue epilogue = Epilogue::store;
  float* maxima = nullptr;
};

// Layer normalisation; without a bias only by the root of the mean square, without subtracting the mean.
struct Norm {
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
};

// Destination of activations in the type of the next product.
struct Quantized {
  char* rows = nullptr;
  float* scale = nullptr;
  float fixed = 0;  // fixed scale of all rows, beyond which values are clipped; 0: from each row's maximum
};

// Keys and values of a sentence or hypothesis in one layer. A page holds 16 positions: keys [head][channel][16], then
// values [head][16][value channel], in half precision for integer models.
struct Cache {
  const char* const* pages = nullptr;
  size_t offset = 0;  // bytes from the start of a page to the layer
  int length = 0;     // positions
  // Added to the scores of the first query in the first head, from the key at position 0 on; query q's begin q floats
  // earlier, a head's `bias_stride` floats after those of the head before. Null: nothing is added.
  const float* biases = nullptr;
  size_t bias_stride = 0;
};

struct HeadShape {
  int count = 0;
  int channels = 0;        // per head, a multiple of 16
  float scale = 0;         // factor of scores
  bool half = false;       // keys and values in half precision
  int value_channels = 0;  // per head, a multiple of 16; 0: as many as keys
};

static inline int value_channels(const HeadShape& heads) {
  return heads.value_channels ? heads.value_channels : heads.channels;
}
// Bytes of a layer in a page.
static inline size_t page_bytes(const HeadShape& heads) {
  return (size_t)heads.count * (heads.channels + value_channels(heads)) * kPagePositions *
         (heads.half ? kHalfBytes : 4);
}

struct ProductKernels {
  const char* name;  // of the instruction set
  int block_rows;    // rows of a product in encoders and feed-forward layers, whose activations stay in a near cache

  // rows x inputs times the weights, plus bias; computes panels [first_panel, last_panel) of the columns.
  void (*product)(const Linear&, const Inputs&, int rows, int first_panel, int last_panel, const Outputs&);
  // Gives back the registers that products keep configured in this thread (AMX); call it after a thread's last product.
  void (*release)();
};

struct VectorKernels {
  // Layer normalisation of rows of `units`, converted to the type of the next product. normalised: receives the
  // normalised rows in float32, or null.
  void (*normalise)(const float* rows, int count, int units, const Norm&, Type, const Quantized&, float* normalised);
  // Converts rows to the type of the next product. stride: floats per row. maxima: from relu (Outputs), or null.
  void (*quantise)(const float* rows, int count, int units, int stride, Type, const Quantized&, const float* maxima);

  // Packs a panel of 16 matrix rows: [16][groups] of 4 bytes to [groups][16]. groups: a multiple of 4.
  void (*interleave)(const char* const* rows, int groups, char* panel);

  // to = factor * (scale * row) + position, for an embedding row of this type.
  void (*embed)(Type, const char* row, float scale, float factor, const float* position, int units, float* to);

  // Writes the keys and values of one position, [head][channel] each, into its page.
  void (*write_cache)(const HeadShape&, const float* keys, const float* values, int place, char* page);
  // The same for `count` positions of a page. stride: floats per position. Others after them may be overwritten.
  void (*write_positions)(const HeadShape&, const float* keys, const float* values, int stride, int place, int count,
                          char* page);
  // Attention of `queries` rows over the same keys and values. stride: floats per query, and per context.
  // weights: [queries][head][16 * pages] or null. scratch: kScratch x pages floats.
  void (*attend)(const HeadShape&, const float* queries, int count, int stride, const Cache&, float* contexts,
                 int context_stride, float* weights, float* scratch);
  // The same with additive scores (Bahdanau et al. 2015): the sum over channels of combination * tanh(query + key).
  void (*attend_additive)(const HeadShape&, const float* combination, const float* queries, int count, int stride,
                          const Cache&, float* contexts, int context_stride, float* weights, float* scratch);

  // Element-wise parts of averaging and recurrent layers; units: a multiple of 16.
  // sum += row; stores or adds the mean, share x sum.
  void (*average)(const float* row, float* sum, float share, int units, bool add, float* to);
  // An activation in place. gated: rows have 2 x `units` floats, the second half are linear factors. stride, to_stride:
  // floats per row before and after; the latter is not larger.
  void (*activate)(Activation, bool gated, float* rows, int count, int units, int stride, int to_stride);
  // tanh in place.
  void (*tangents)(float* rows, int count, int units, int stride);
  // row += first * sigmoid(first_gate) + second * sigmoid(second_gate).
  void (*add_gated)(const float* first, const float* first_gate, const float* second, const float* second_gate,
                    int units, float* row);
  // gates: [2][units], forget gate f and candidate: cell = f cell + (1 - f) candidate; row += relu(cell).
  void (*simple_recurrence)(const float* gates, float* cell, int units, float* row);
  // inputs, states: products of input and state. LSTM: [4][units] of input gate, forget gate, candidate, output gate
  // (Hochreiter and Schmidhuber 1997).
  void (*lstm)(const float* inputs, const float* states, int units, float* cell, float* output);
  // GRU: [3][units] of update gate, reset gate and candidate tanh(input + reset * state) (Cho et al. 2014, reset after
  // the product).
  void (*gru)(const float* inputs, const float* states, int units, float* state);

  // Gathers the scores of some columns into `to`, padded with kNever to a multiple of 16.
  void (*pick)(const float* scores, const int32_t* columns, int count, float* to);
  // The column of the highest score, the first among equals. columns, here and below: a multiple of 16.
  int (*best)(const float* scores, int columns);
  // The best score of each 16 columns.
  void (*maxima)(const float* scores, int columns, float* to);
  // The columns whose scores are not below `least`, ascending; returns how many.
  int (*at_least)(const float* scores, int columns, float least, int32_t* places);
  // weights = e^((score - most) * factor), 0 if that is below 1e-37; sums: of each 16 of them.
  void (*weigh)(const float* scores, int columns, float most, float factor, float* weights, float* sums);
  // log of the sum of e^score.
  float (*log_sum)(const float* scores, int columns);
  // The log of the mean of several models' probabilities, whose logs are score - log sum. to: may be one of the rows.
  void (*mean_log)(const float* const* scores, const float* log_sums, int models, int columns, float* to);
  // The `most` best columns, best first, ties by position; returns how many are above kNever.
  int (*top)(const float* scores, int columns, int most, float* values, int32_t* places);
  // Bit i is set if the `size` pieces at pieces + i equal `ending`, for i below 16.
  uint32_t (*repeats)(const int32_t* pieces, const int32_t* ending, int size);

  // Reads these bytes, a multiple of 512, and returns a sum of some of them, so that they are read.
  int32_t (*read)(const char* from, size_t bytes);
};

struct Kernels : ProductKernels, VectorKernels {};

}  // namespace nmt
