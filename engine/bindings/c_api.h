// The C interface, called by Python's ctypes. No exception leaves it: a function that can fail returns 0, or 1 and one
// line in `error`. Numbers are int32 and float, so that NumPy arrays can be passed without a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#define NMT_EXPORT extern "C" __attribute__((visibility("default")))

struct nmt_model;   // weights and map; shared by any number of workers
struct nmt_worker;  // state of one caller: a second call at the same time is an error

// Number of this interface: raise it here and in engine/python with every change of a struct or function below.
constexpr int32_t kInterface = 7;

// Options of nmt_frontier.bindings.Options, in the same order. vocabulary_map: whether its candidates are scored, instead
// of all target pieces. without: a bit for each switch that is off (model/switches.h).
struct nmt_options {
  int32_t beam_size, n_best;
  float length_penalty;
  int32_t wu, shortest, longest, blocked_ngram, vocabulary_map, scores, attention_layer, attention_head;
  int32_t stop, as_transformers, forced_end;
  int32_t samples;
  float temperature;
  int32_t top_k;
  float top_p, epsilon;
  int32_t seed;
  uint32_t without;
};

struct nmt_batch {
  int32_t sentences;
  const int32_t* source_lengths;
  const int32_t* sources;         // pieces of all sentences, concatenated
  const int32_t* prefix_lengths;  // or null
  const int32_t* prefixes;
};

// Owned by the calling thread; valid until its next call, of any worker.
struct nmt_results {
  const int32_t* counts;   // hypotheses of each sentence
  const int32_t* lengths;  // pieces of each hypothesis
  const int32_t* pieces;   // of all hypotheses, concatenated; from nmt_score: the best ones at each piece and end
  const float* scores;     // of each hypothesis; from nmt_score: of each piece and end
  const int32_t* attention_lengths;  // weights of each hypothesis
  const float* attention;
  const int32_t* loops;       // pieces that were cut off each hypothesis, as they repeated others
  const float* piece_scores;  // from nmt_score: log probabilities of `pieces`
  int64_t total_hypotheses, total_pieces, total_attention;
};

NMT_EXPORT int32_t nmt_interface();
NMT_EXPORT int32_t nmt_options_size();
NMT_EXPORT int32_t nmt_switches();
NMT_EXPORT const char* nmt_switch_name(int32_t bit);
NMT_EXPORT const char* nmt_isa();             // the instruction set in use; null if NMT_ISA names none of this CPU's
NMT_EXPORT const char* nmt_available_sets();  // separated by spaces
// map: path of the vocabulary map, or null. without: as in nmt_options; only the switch `packed` counts.
NMT_EXPORT int nmt_open(const char* weights, const char* map, uint32_t without, nmt_model** model, char* error,
                        size_t error_size);
NMT_EXPORT void nmt_close(nmt_model* model);
// Maximum length in pieces of a source with prefix and suffix, and of a translation with its prefix.
NMT_EXPORT int32_t nmt_positions(const nmt_model* model);
// The next three change the model; they fail if it has workers.

// Sets the tile of products with these inputs and outputs: 0 usual, 1 tall, 2 square, 3 AMX.
NMT_EXPORT int nmt_choose_tile(nmt_model* model, int32_t inputs, int32_t outputs, int32_t tile, char* error,
                               size_t error_size);
// Sets the fewest rows for which these products use the tiles of AMX.
NMT_EXPORT int nmt_choose_tiled_rows(nmt_model* model, int32_t inputs, int32_t outputs, int32_t rows, char* error,
                                     size_t error_size);
// Ends translations that repeat themselves. source, target: the texts of all pieces (Model::source_texts), each ended by
// a zero; sizes: in bytes.
NMT_EXPORT int nmt_end_loops(nmt_model* model, const char* source, int64_t source_size, const char* target,
                             int64_t target_size, char* error, size_t error_size);

// models: one, or an ensemble of several with one vocabulary, whose probabilities are averaged at every step; the map,
// attention and calibration are the first model's. threads: how many share a batch.
NMT_EXPORT int nmt_open_worker(const nmt_model* const* models, int count, int threads, nmt_worker** worker, char* error,
                               size_t error_size);
NMT_EXPORT void nmt_close_worker(nmt_worker* worker);
NMT_EXPORT int nmt_translate(nmt_worker* worker, const nmt_batch* batch, const nmt_options* options,
                             nmt_results* results, char* error, size_t error_size);
// Scores the prefixes of a batch as targets; of the options only the candidates count. most: how many of the most
// probable pieces to find at each piece and end, padded with -1 where there are fewer candidates.
NMT_EXPORT int nmt_score(nmt_worker* worker, const nmt_batch* batch, const nmt_options* options, int32_t most,
                         nmt_results* results, char* error, size_t error_size);
NMT_EXPORT void nmt_stop(nmt_worker* worker);  // from any thread: ends the running call, or the next one, early
NMT_EXPORT int nmt_components();
NMT_EXPORT const char* nmt_component_name(int component);
NMT_EXPORT void nmt_measure(nmt_worker* worker, int on);  // turns the timing of components on or off; initially off
NMT_EXPORT void nmt_ticks(const nmt_worker* worker, uint64_t* ticks);  // of each component, while timing was on

NMT_EXPORT int nmt_products(const nmt_model* model);
NMT_EXPORT const char* nmt_product_name(const nmt_model* model, int product);
NMT_EXPORT void nmt_calibrate(nmt_worker* worker, int on);  // turns the recording of input scales on or off
// Recorded input scales of a product: number of rows, then sum, sum of squares and maximum of their scales.
NMT_EXPORT void nmt_input_scales(const nmt_worker* worker, int product, double* scales);

// One product, for tests and kernel benchmarks: [rows][inputs] times packed weights.
NMT_EXPORT int nmt_product(int32_t type, int32_t inputs, int32_t outputs, const char* panels, const int8_t* steps,
                           const float* scale, const int32_t* offset, const float* bias, int32_t rows,
                           const char* input_rows, const float* input_scale, int32_t shifted, int32_t tile, float* to,
                           int32_t repeat, char* error, size_t error_size);
// Reads these bytes, a multiple of 512, so many times, to measure the caches.
NMT_EXPORT void nmt_read(const char* from, int64_t bytes, int32_t repeat);
NMT_EXPORT int nmt_quantise(int32_t type, int32_t rows, int32_t units, const float* from, char* to, float* scale,
                            int32_t is_signed, float fixed, char* error, size_t error_size);
// An activation (Activation of kernels/kernels.h) of rows, in place; gated: rows have 2 x `units` floats, and the
// results lie in the first `units` x rows.
NMT_EXPORT int nmt_activate(int32_t activation, int32_t gated, int32_t rows, int32_t units, float* in_place,
                            char* error, size_t error_size);
// One step of a cell, 0 LSTM, 1 GRU (recurrent/cell.h). inputs, states: products for all gates, [gates][units].
NMT_EXPORT int nmt_cell(int32_t kind, int32_t units, const float* inputs, const float* states, float* state,
                        char* error, size_t error_size);
