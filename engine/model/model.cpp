#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/error.h"

namespace nmt {
namespace {

const char* const kFormat = "nmt-frontier-native-1";

int padded(int count) { return (count + kPanel - 1) / kPanel * kPanel; }

const char* stored(Type type) { return type == Type::float32 ? "F32" : type == Type::int16 ? "I16" : "I8"; }

}  // namespace

Model::Model(const std::string& path) : file_(path) {
  read_shape();
  const Shape& s = shape;
  source_embeddings = rows("source", s.source_pieces);
  target_embeddings = rows("target", s.target_pieces);
  output_rows = rows("output", s.target_pieces);
  const size_t entries = (size_t)output_rows.entries;
  output_bias_ = (const float*)file_.data("output.bias", "F32", {entries});
  if (s.type == Type::int8) output_offset_ = (const int32_t*)file_.data("output.offset", "I32", {entries});
  const int encoder_width = s.encoder_heads * s.encoder_head_units;
  const int decoder_width = s.decoder_heads * s.decoder_head_units;
  for (int l = 0; l < s.encoder_layers; ++l) {
    const std::string name = "encoder." + std::to_string(l) + ".";
    encoder.push_back({attention(name + "self", encoder_width, false), feed_forward(name + "feed_forward")});
  }
  for (int l = 0; l < s.decoder_layers; ++l) {
    const std::string name = "decoder." + std::to_string(l) + ".";
    decoder.push_back({attention(name + "self", decoder_width, false), attention(name + "source", decoder_width, true),
                       feed_forward(name + "feed_forward")});
  }
  if (s.pre_norm) {
    encoder_norm = norm("encoder.norm");
    decoder_norm = norm("decoder.norm");
  }
  output_input_scale = input_scale("output");
  products.push_back("output");
  read_positions();
}

void Model::read_shape() {
  Shape& s = shape;
  if (file_.metadata("format") != kFormat) file_.fail("its format is not " + std::string(kFormat));
  if (file_.metadata("architecture") != "transformer")
    file_.fail("its architecture '" + file_.metadata("architecture") + "' is unknown to this version of the engine");
  const std::string& type = file_.metadata("type");
  if (type != "float32" && type != "int16" && type != "int8") file_.fail("its type '" + type + "' is unknown");
  s.type = type == "float32" ? Type::float32 : type == "int16" ? Type::int16 : Type::int8;
  const auto count = [&](const char* key, int64_t least, int64_t most) { return (int)file_.integer(key, least, most); };
  s.units = count("units", 16, kMostUnits);
  s.feed_forward_units = count("feed_forward_units", 16, 4 * kMostUnits);
  if (s.units % kPanel || s.feed_forward_units % kPanel) file_.fail("its units are no multiple of 16");
  s.encoder_layers = count("encoder_layers", 1, 1000);
  s.decoder_layers = count("decoder_layers", 1, 1000);
  s.encoder_heads = count("encoder_heads", 1, kMostUnits);
  s.decoder_heads = count("decoder_heads", 1, kMostUnits);
  s.encoder_head_units = count("encoder_head_units", 1, kMostUnits);
  s.decoder_head_units = count("decoder_head_units", 1, kMostUnits);
  s.encoder_scale = 1.0f / std::sqrt((float)s.encoder_head_units);
  s.decoder_scale = 1.0f / std::sqrt((float)s.decoder_head_units);
  s.encoder_head_units = padded(s.encoder_head_units);
  s.decoder_head_units = padded(s.decoder_head_units);
  s.source_pieces = count("source_pieces", 1, 1 << 24);
  s.target_pieces = count("target_pieces", 1, 1 << 24);
  s.start = count("start", 0, s.target_pieces - 1);
  s.end = count("end", 0, s.target_pieces - 1);
  s.pre_norm = file_.flag("pre_norm");
  s.start_from_zero = file_.flag("start_from_zero");
  s.source_factor = (float)file_.real("source_factor");
  s.target_factor = (float)file_.real("target_factor");
  s.epsilon = (float)file_.real("epsilon");
  if (!(s.epsilon >= 0)) file_.fail("its epsilon is negative");
}

Linear Model::linear(const std::string& name, int outputs, int inputs) {
  const Type type = shape.type;
  const size_t group = type == Type::float32 ? 1 : type == Type::int16 ? 2 : 4;
  const size_t n = (size_t)outputs, k = (size_t)inputs;
  Linear result;
  result.type = type;
  result.inputs = inputs;
  result.outputs = outputs;
  result.panels = file_.data(name + ".weight", stored(type), {n / kPanel, k / group, kPanel, group});
  result.bias = (const float*)file_.data(name + ".bias", "F32", {n});
  if (type != Type::float32) result.scale = (const float*)file_.data(name + ".scale", "F32", {n});
  if (type == Type::int8) result.offset = (const int32_t*)file_.data(name + ".offset", "I32", {n});
  result.input_scale = input_scale(name);
  result.number = (int)products.size();
  products.push_back(name);
  return result;
}

// The scale that measure.calibrate gave to the inputs of a product, or 0.
float Model::input_scale(const std::string& product) const {
  const std::string name = product + ".input_scale";
  if (shape.type == Type::float32 || !file_.has(name)) return 0;
  const float scale = *(const float*)file_.data(name, "F32", {1}, sizeof(float));
  if (!(scale > 0 && std::isfinite(scale) && std::isfinite(1 / scale))) file_.fail(name + " is no scale");
  return scale;
}

Norm Model::norm(const std::string& name) const {
  const std::vector<size_t> units = {(size_t)shape.units};
  return {(const float*)file_.data(name + ".scale", "F32", units),
          (const float*)file_.data(name + ".bias", "F32", units), shape.epsilon};
}

Attention Model::attention(const std::string& name, int width, bool of_source) {
  Attention result;
  result.queries = linear(name + ".queries", of_source ? width : 3 * width, shape.units);
  if (of_source) result.memory = linear(name + ".memory", 2 * width, shape.units);
  result.output = linear(name + ".output", shape.units, width);
  result.norm = norm(name + ".norm");
  return result;
}

FeedForward Model::feed_forward(const std::string& name) {
  return {linear(name + ".inner", shape.feed_forward_units, shape.units),
          linear(name + ".outer", shape.units, shape.feed_forward_units), norm(name + ".norm")};
}

Rows Model::rows(const std::string& name, int pieces) const {
  const std::string& at = file_.metadata("rows." + name);  // tied matrices are stored once
  Rows result;
  result.entries = padded(pieces);
  const size_t entries = (size_t)result.entries;
  result.rows = file_.data(at + ".rows", stored(shape.type), {entries, (size_t)shape.units});
  if (shape.type != Type::float32) result.scale = (const float*)file_.data(at + ".scale", "F32", {entries});
  return result;
}

void Model::read_positions() {
  const size_t units = (size_t)shape.units;
  if (file_.has("positions")) {
    const Tensor& stored = file_.tensor("positions");
    if (stored.shape.empty() || stored.shape[0] < 1 || stored.shape[0] > 1 << 20) file_.fail("it has no positions");
    position_count = (int)stored.shape[0];
    positions_ = (const float*)file_.data("positions", "F32", {stored.shape[0], units});
    return;
  }
  position_count = kBlocks * kSinusoids;
  sinusoids_.get((size_t)position_count * units);
}

// Sines, then cosines, of the positions from 1, whose wave lengths grow to 10,000 x 2 pi in units / 2 - 1 steps
// (OpenNMT-tf).
void Model::compute_positions(int block) const {
  const std::lock_guard<std::mutex> lock(computing_);
  if (computed_[block].load(std::memory_order_relaxed)) return;
  const size_t units = (size_t)shape.units, half = units / 2;
  const float step = std::log(10000.f) / (float)(half - 1);
  for (size_t p = (size_t)block * kSinusoids; p < (size_t)(block + 1) * kSinusoids; ++p) {
    float* const row = sinusoids_.data() + p * units;
    for (size_t i = 0; i < half; ++i) {
      const float angle = (float)(p + 1) * std::exp(-step * (float)i);
      row[i] = std::sin(angle);
      row[half + i] = std::cos(angle);
    }
  }
  computed_[block].store(true, std::memory_order_release);
}

// All products but the output layer.
std::vector<Linear*> Model::linears() {
  std::vector<Linear*> found;
  for (EncoderLayer& layer : encoder)
    for (Linear* const weights :
         {&layer.self.queries, &layer.self.output, &layer.feed_forward.inner, &layer.feed_forward.outer})
      found.push_back(weights);
  for (DecoderLayer& layer : decoder)
    for (Linear* const weights :
         {&layer.self.queries, &layer.self.output, &layer.source.queries, &layer.source.memory, &layer.source.output,
          &layer.feed_forward.inner, &layer.feed_forward.outer})
      found.push_back(weights);
  return found;
}

void Model::choose_tile(int inputs, int outputs, Tile tile) {
  for (Linear* const weights : linears())
    if (weights->inputs == inputs && weights->outputs == outputs) weights->tile = tile;
  if (inputs == shape.units && outputs == shape.target_pieces) output_tile_ = tile;
}

void Model::unpack() {
  for (Linear* const weights : linears()) {
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
  const size_t row = output_rows.row_bytes(shape.type, shape.units);
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
  gathered.inputs = shape.units;
  gathered.outputs = columns;
  gathered.panels = to;
  gathered.scale = scale;
  gathered.offset = offset;
  gathered.bias = bias;
  gathered.tile = output_tile_;
  gathered.input_scale = output_input_scale;
  gathered.number = (int)products.size() - 1;
}

}  // namespace nmt
