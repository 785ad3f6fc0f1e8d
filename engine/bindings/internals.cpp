#include <algorithm>
#include <string>
#include <vector>

#include "architectures.h"
#include "bindings/handles.h"
#include "recurrent/cell.h"

using namespace nmt;

namespace {

// Texts that are each ended by a zero.
std::vector<std::string> texts(const char* bytes, int64_t size) {
  std::vector<std::string> found;
  for (const char *at = bytes, *const end = bytes + size; at != end; ++at) {
    const char* const zero = std::find(at, end, '\0');
    if (zero == end) throw Error("the text of a piece is not ended");
    found.emplace_back(at, zero);
    at = zero;
  }
  return found;
}

Tile checked_tile(int32_t tile) {
  if (tile < 0 || tile >= (int32_t)Tile::count) throw Error("there is no tile " + std::to_string(tile));
  return (Tile)tile;
}

}  // namespace

int32_t nmt_own_interface() { return kInterface; }

int32_t nmt_options_size() { return (int32_t)sizeof(nmt_options); }

int32_t nmt_switches() { return kSwitches; }

const char* nmt_switch_name(int32_t bit) { return bit >= 0 && bit < kSwitches ? kSwitchNames[bit] : nullptr; }

int nmt_open(const char* weights, const char* map, uint32_t without, nmt_model** model, char* error,
             size_t error_size) {
  return guarded(error, error_size, [&] {
    kernels();
    const Switches on = switches(without);
    std::unique_ptr<nmt_model> opened(new nmt_model{open_model(weights), nullptr, nullptr, nullptr});
    const Shape& shape = opened->model->shape;
    if (map) opened->map = std::make_unique<VocabularyMap>(map, shape.source_pieces, shape.target_pieces);
    if (!on.packed) opened->model->unpack();
    *model = opened.release();
  });
}

int32_t nmt_positions(const nmt_model* model) { return model->model->position_count; }

int nmt_choose_tile(nmt_model* model, int32_t inputs, int32_t outputs, int32_t tile, char* error, size_t error_size) {
  return guarded(error, error_size, [&] { model->model->choose_tile(inputs, outputs, checked_tile(tile)); });
}

int nmt_choose_tiled_rows(nmt_model* model, int32_t inputs, int32_t outputs, int32_t rows, char* error,
                          size_t error_size) {
  return guarded(error, error_size, [&] {
    if (rows < 1) throw Error("tiles need at least one row");
    model->model->choose_tiled_rows(inputs, outputs, rows);
  });
}

int nmt_end_loops(nmt_model* model, const char* source, int64_t source_size, const char* target, int64_t target_size,
                  char* error, size_t error_size) {
  return guarded(error, error_size,
                 [&] { model->model->end_loops(texts(source, source_size), texts(target, target_size)); });
}

int nmt_components() { return kComponents; }

const char* nmt_component_name(int component) {
  return component >= 0 && component < kComponents ? kComponentNames[component] : nullptr;
}

void nmt_measure(nmt_worker* worker, int on) {
  for (const auto& search : worker->searches) search->measure(on != 0);
}

void nmt_ticks(const nmt_worker* worker, uint64_t* to) {
  for (int c = 0; c < kComponents; ++c) {
    to[c] = 0;
    for (const auto& search : worker->searches) to[c] += search->ticks((size_t)c);
  }
}

uint64_t nmt_operations(const nmt_worker* worker) {
  uint64_t sum = 0;
  for (const auto& search : worker->searches) sum += search->operations();
  return sum;
}

int nmt_products(const nmt_model* model) { return (int)model->model->products.size(); }

const char* nmt_product_name(const nmt_model* model, int product) {
  return product >= 0 && product < nmt_products(model) ? model->model->products[(size_t)product].c_str() : nullptr;
}

void nmt_calibrate(nmt_worker* worker, int on) {
  for (const auto& search : worker->searches) search->calibration().on = on != 0;
}

void nmt_input_scales(const nmt_worker* worker, int product, double* to) {
  InputScales scales;
  for (const auto& search : worker->searches) scales.add(search->calibration().scales((size_t)product));
  const double numbers[] = {(double)scales.rows, scales.sum, scales.squares, scales.largest};
  std::copy(std::begin(numbers), std::end(numbers), to);
}

int nmt_product(int32_t type, int32_t inputs, int32_t outputs, const char* panels, const int8_t* steps,
                const float* scale, const int32_t* offset, const float* bias, int32_t rows, const char* input_rows,
                const float* input_scale, int32_t shifted, int32_t tile, float* to, int32_t repeat, char* error,
                size_t error_size) {
  return guarded(error, error_size, [&] {
    const int32_t whole = (Type)type == Type::int4 ? kStepInputs : 16;
    if (type < 0 || type > 3 || inputs < 16 || inputs % whole || outputs < 16 || outputs % 16 || rows < 1)
      throw Error("a product needs rows, and inputs and outputs that are multiples of 16, inputs of int4 of 32");
    if ((uintptr_t)panels % 64) throw Error("weights must be aligned to 64 bytes");
    Linear weights = {(Type)type, inputs, outputs, panels, scale, offset, steps, bias, checked_tile(tile)};
    if (weights.tile == Tile::amx) weights.tiled_rows = 1;  // the tile that was asked for
    for (int32_t r = 0; r < repeat; ++r)
      kernels().product(weights, {input_rows, input_scale, shifted != 0}, rows, 0, outputs / kPanel,
                        {to, outputs, Epilogue::store, nullptr});
    kernels().release();
  });
}

void nmt_read(const char* from, int64_t bytes, int32_t repeat) {
  for (int32_t r = 0; r < repeat; ++r) kernels().read(from, (size_t)bytes);
}

int nmt_quantise(int32_t type, int32_t rows, int32_t units, const float* from, char* to, float* scale,
                 int32_t is_signed, float fixed, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    if (type < 0 || type > 2 || rows < 1 || units < 16 || units % 16)
      throw Error("rows need units that are a multiple of 16");
    std::vector<float> maxima((size_t)rows * kPanel);
    for (int32_t r = 0; r < rows; ++r)
      maxima[(size_t)r * kPanel] = *std::max_element(from + (size_t)r * units, from + (size_t)(r + 1) * units);
    kernels().quantise(from, rows, units, units, (Type)type, {to, scale, fixed}, is_signed ? nullptr : maxima.data());
  });
}

int nmt_activate(int32_t activation, int32_t gated, int32_t rows, int32_t units, float* in_place, char* error,
                 size_t error_size) {
  return guarded(error, error_size, [&] {
    if (activation < 0 || activation >= (int32_t)Activation::count || rows < 1 || units < 16 || units % 16)
      throw Error("an activation needs rows, and units that are a multiple of 16");
    kernels().activate((Activation)activation, gated != 0, in_place, rows, units, gated ? 2 * units : units, units);
  });
}

int nmt_cell(int32_t kind, int32_t units, const float* inputs, const float* states, float* state, char* error,
             size_t error_size) {
  return guarded(error, error_size, [&] {
    if (kind < 0 || kind > 1 || units < 16 || units % 16) throw Error("a cell needs units that are a multiple of 16");
    Cell cell;
    cell.kind = (CellKind)kind;
    cell.states.inputs = units;
    update(kernels(), cell, inputs, states, state);
  });
}
