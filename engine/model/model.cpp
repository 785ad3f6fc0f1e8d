#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/bounds.h"
#include "runtime/dispatch.h"
#include "runtime/error.h"

namespace nmt {
namespace {

const char* stored(Type type) { return type == Type::float32 ? "F32" : type == Type::int16 ? "I16" : "I8"; }

}  // namespace

Model::Model(std::unique_ptr<SafeTensors> file) : file_(std::move(file)) {
  Shape& s = shape;
  const std::string& type = file_->metadata("type");
  if (type != "float32" && type != "int16" && type != "int8" && type != "int4")
    file_->fail("its type '" + type + "' is unknown");
  s.type = type == "float32" ? Type::float32 : type == "int16" ? Type::int16 : Type::int8;
  s.source_pieces = count("source_pieces", 1, 1 << 24);
  s.target_pieces = count("target_pieces", 1, 1 << 24);
  s.start = count("start", 0, s.target_pieces - 1);
  s.end = count("end", 0, s.target_pieces - 1);
  s.start_from_zero = file_->flag("start_from_zero");
  s.source_factor = (float)file_->real("source_factor");
  s.target_factor = (float)file_->real("target_factor");
}

int Model::units(const char* key, int most) const {
  const int units = count(key, kPanel, most);
  if (units % kPanel) file_->fail("its units are no multiple of 16");
  return units;
}

void Model::read_pieces() {
  const Shape& s = shape;
  source_embeddings = rows("source", s.source_pieces, s.source_units);
  target_embeddings = rows("target", s.target_pieces, s.target_units);
  output_rows = rows("output", s.target_pieces, s.output_units);
  const size_t entries = (size_t)output_rows.entries;
  output_bias_ = file_->floats("output.bias", {entries});
  if (s.type == Type::int8) output_offset_ = offset("output", entries, s.output_units, s.type);
  Buffer<char> panel;
  const size_t row = output_rows.row_bytes(s.type, s.output_units);
  for (size_t entry = 0; s.type != Type::float32 && entry < entries; entry += kPanel) {
    const char* from[kPanel];
    for (size_t i = 0; i < kPanel; ++i) from[i] = output_rows.rows + (entry + i) * row;
    kernels().interleave(from, (int)(row / 4), panel.get(row * kPanel));
    require_bounded(file_->metadata("rows.output") + ".rows", panel.data(), s.output_units, s.type);
  }
  output_input_scale = input_scale("output");
  products.push_back("output");
}

Linear Model::linear(const std::string& name, int outputs, int inputs) {
  const bool nibbles = file_->has(name + ".steps");  // other products of an int4 model are int8
  const Type type = nibbles ? Type::int4 : shape.type;
  const size_t group = type == Type::float32 ? 1 : type == Type::int16 ? 2 : 4;
  const size_t n = (size_t)outputs, k = (size_t)inputs;
  Linear result;
  result.type = type;
  result.inputs = inputs;
  result.outputs = outputs;
  if (nibbles) {
    if (shape.type != Type::int8 || k % kStepInputs) file_->fail("'" + name + "' cannot have steps");
    result.steps = (const int8_t*)file_->data(name + ".steps", "I8", {n / kPanel, k / kStepInputs, kPanel}, 1);
  }
  const size_t groups = k / group / (nibbles ? 2 : 1);
  result.panels = file_->data(name + ".weight", stored(type), {n / kPanel, groups, kPanel, group});
  result.bias = file_->floats(name + ".bias", {n});
  if (type != Type::float32) result.scale = file_->floats(name + ".scale", {n});
  if (shape.type == Type::int8) result.offset = offset(name, n, inputs, type);
  for (size_t panel = 0; panel < n / kPanel; ++panel)
    if (nibbles)
      require_bounded(name + ".steps", (const char*)result.steps + panel * (k / kStepInputs) * kPanel, inputs, type);
    else
      require_bounded(name + ".weight", result.panels + panel * panel_bytes(result), inputs, type);
  result.input_scale = input_scale(name);
  result.number = (int)products.size();
  products.push_back(name);
  return result;
}

const int32_t* Model::offset(const std::string& product, size_t outputs, int inputs, Type type) const {
  const auto* const values = (const int32_t*)file_->data(product + ".offset", "I32", {outputs});
  if (!std::all_of(values, values + outputs, [&](int32_t value) { return bounded_offset(type, value, inputs); }))
    file_->fail("'" + product + ".offset' is out of range; export the model again");
  return values;
}

void Model::require_bounded(const std::string& name, const char* panel, int inputs, Type type) const {
  if (!bounded(type, panel, inputs))
    file_->fail("'" + name + "' holds integers whose sums may overflow; export the model again");
}

// The scale that measure.calibrate chose for a product's inputs, or 0.
float Model::input_scale(const std::string& product) const {
  const std::string name = product + ".input_scale";
  if (shape.type == Type::float32 || !file_->has(name)) return 0;
  const float scale = *file_->floats(name, {1}, sizeof(float));
  if (!(scale > 0 && std::isfinite(1 / scale))) file_->fail(name + " is no scale");
  return scale;
}

Norm Model::norm(const std::string& name, int units, float epsilon) const {
  const std::vector<size_t> size = {(size_t)units};
  return {file_->floats(name + ".scale", size), file_->floats(name + ".bias", size), epsilon};
}

Rows Model::rows(const std::string& name, int pieces, int units) const {
  const std::string& at = file_->metadata("rows." + name);  // tied matrices are stored once
  Rows result;
  result.entries = padded(pieces);
  const size_t entries = (size_t)result.entries;
  result.rows = file_->data(at + ".rows", stored(shape.type), {entries, (size_t)units});
  if (shape.type != Type::float32) result.scale = file_->floats(at + ".scale", {entries});
  return result;
}

void Model::require_unused() const {
  if (use_.use_count() > 1) throw Error("the model has workers; choose tiles and packing before you open one");
}

void Model::choose_tile(int inputs, int outputs, Tile tile) {
  require_unused();
  for (Linear* const weights : linears())
    if (weights->inputs == inputs && weights->outputs == outputs) weights->tile = tile;
  if (inputs == shape.output_units && outputs == shape.target_pieces) output_tile_ = tile;
}

void Model::choose_tiled_rows(int inputs, int outputs, int rows) {
  require_unused();
  for (Linear* const weights : linears())
    if (weights->inputs == inputs && weights->outputs == outputs) weights->tiled_rows = rows;
  if (inputs == shape.output_units && outputs == shape.target_pieces) output_tiled_rows_ = rows;
}

void Model::end_loops(std::vector<std::string> source, std::vector<std::string> target) {
  require_unused();
  if ((int)source.size() != shape.source_pieces || (int)target.size() != shape.target_pieces)
    throw Error("the model has " + std::to_string(shape.source_pieces) + " source and " +
                std::to_string(shape.target_pieces) + " target pieces, not texts of " + std::to_string(source.size()) +
                " and " + std::to_string(target.size()));
  source_texts = std::move(source);
  target_texts = std::move(target);
}

void Model::unpack() {
  require_unused();
  for (Linear* const weights : linears()) {
    if (weights->rows || weights->type == Type::int4) continue;  // already unpacked, or half bytes, which have no rows
    const size_t row = row_bytes(*weights), panel = row * kPanel;
    Buffer<char> rows;
    char* const to = rows.get(row * (size_t)weights->outputs);
    for (size_t channel = 0; channel < (size_t)weights->outputs; ++channel) {
      const char* const from = weights->panels + channel / kPanel * panel + channel % kPanel * 4;
      for (size_t group = 0; group < row / 4; ++group)
        std::memcpy(to + channel * row + group * 4, from + group * 4 * kPanel, 4);
    }
    weights->rows = to;
    weights->panels = nullptr;
    unpacked_.push_back(std::move(rows));
  }
}

const Linear& Model::whole_output() const {
  std::call_once(packed_, [this] {
    std::vector<int32_t> pieces((size_t)shape.target_pieces);
    std::iota(pieces.begin(), pieces.end(), 0);
    gather_output(pieces.data(), shape.target_pieces, whole_panels_, whole_numbers_, whole_);
  });
  return whole_;
}

void Model::gather_output(const int32_t* pieces, int count, Buffer<char>& panels, Buffer<float>& numbers,
                          Linear& gathered) const {
  const size_t row = output_rows.row_bytes(shape.type, shape.output_units);
  const Kernels& kernel = kernels();
  const int columns = padded(count);
  char* const to = panels.get((size_t)columns * row);
  float* const bias = numbers.get((size_t)3 * columns);
  float* const scale = bias + columns;
  auto* const offset = (int32_t*)(scale + columns);
  for (int c = 0; c < columns; c += kPanel) {
    const char* from[kPanel];
    for (int i = 0; i < kPanel; ++i) {
      const int piece = pieces[std::min(c + i, count - 1)];
      from[i] = output_rows.rows + (size_t)piece * row;
      bias[c + i] = c + i < count ? output_bias_[piece] : kNever;
      if (shape.type != Type::float32) scale[c + i] = c + i < count ? output_rows.scale[piece] : 0;
      if (shape.type == Type::int8) offset[c + i] = output_offset_[piece];
    }
    kernel.interleave(from, (int)(row / 4), to + (size_t)c * row);
  }
  gathered.type = shape.type;
  gathered.inputs = shape.output_units;
  gathered.outputs = columns;
  gathered.panels = to;
  gathered.scale = scale;
  gathered.offset = offset;
  gathered.bias = bias;
  gathered.tile = output_tile_;
  gathered.tiled_rows = output_tiled_rows_;
  gathered.input_scale = output_input_scale;
  gathered.number = (int)products.size() - 1;
}

}  // namespace nmt
