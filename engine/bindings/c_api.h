// What Python's package and its tests call beside the stable interface (nmt_frontier.h): files instead of folders, tiles,
// clocks, calibration, single kernels. It comes with the package, and changes with any version.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bindings/nmt_frontier.h"

// Number of both interfaces: raise it here and in engine/python with every change of a struct or function.
constexpr int32_t kInterface = 8;

extern "C" {
NMT_EXPORT int32_t nmt_own_interface();
NMT_EXPORT int32_t nmt_options_size();
NMT_EXPORT int32_t nmt_switches();  // bits of nmt_options.without (model/switches.h)
NMT_EXPORT const char* nmt_switch_name(int32_t bit);
// map: path of the vocabulary map, or null. without: as in nmt_options; only the switch `packed` counts.
NMT_EXPORT int nmt_open(const char* weights, const char* map, uint32_t without, nmt_model** model, char* error,
                        size_t error_size);
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

NMT_EXPORT int nmt_components();
NMT_EXPORT const char* nmt_component_name(int component);
NMT_EXPORT void nmt_measure(nmt_worker* worker, int on);  // turns the timing of components on or off; initially off
NMT_EXPORT void nmt_ticks(const nmt_worker* worker, uint64_t* ticks);  // of each component, while timing was on
NMT_EXPORT uint64_t nmt_operations(const nmt_worker* worker);  // multiplications and additions of all products so far

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
}
