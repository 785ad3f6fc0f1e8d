#include "transformer/transformer_model.h"

#include <algorithm>
#include <cmath>

#include "transformer/transformer.h"

namespace nmt {

TransformerModel::TransformerModel(std::unique_ptr<SafeTensors> file) : Model(std::move(file)) {
  read_shape();
  read_layers();
  read_pieces();
  read_positions();
  if (file_->has_metadata("relative_buckets")) read_relative_positions();
}

void TransformerModel::read_layers() {
  const int encoder_width = encoder_heads * encoder_head_units, decoder_width = decoder_heads * decoder_head_units;
  const int encoder_layers = count("encoder_layers", 1, 1000), decoder_layers = shape.attention_layers;
  const Activation activation = read_activation();
  const bool gated = flag("gated_feed_forward", false);
  const int encoder_inner = Model::units("feed_forward_units", 4 * kMostUnits);
  const int decoder_inner = file_->has_metadata("decoder_feed_forward_units")
                                ? Model::units("decoder_feed_forward_units", 4 * kMostUnits)
                                : encoder_inner;
  for (int l = 0; l < encoder_layers; ++l) {
    const std::string name = "encoder." + std::to_string(l) + ".";
    encoder.push_back({attention(name + "self", encoder_width, false),
                       feed_forward(name + "feed_forward", encoder_inner, activation, gated)});
  }
  for (int l = 0; l < decoder_layers; ++l) {
    const std::string name = "decoder." + std::to_string(l) + ".";
    DecoderLayer layer;
    if (history == History::self_attention)
      layer.self = attention(name + "self", decoder_width, false);
    else if (history == History::averaging)
      layer.averaging = averaging(name + "self");
    else
      layer.recurrence = {linear(name + "self.gates", 2 * units, units), norm(name + "self.norm")};
    layer.source = attention(name + "source", decoder_width, true);
    layer.feed_forward = feed_forward(name + "feed_forward", decoder_inner, activation, gated);
    decoder.push_back(layer);
  }
  if (flag("final_norms", pre_norm)) {
    encoder_norm = norm("encoder.norm");
    decoder_norm = norm("decoder.norm");
  }
  if (flag("embedding_norm", false)) {
    encoder_embedding_norm = norm("encoder.embedding_norm");
    decoder_embedding_norm = norm("decoder.embedding_norm");
  }
}

bool TransformerModel::flag(const char* key, bool otherwise) const {
  return file_->has_metadata(key) ? file_->flag(key) : otherwise;
}

// A metadata value that is one of some names; its number, 0 if it is absent.
int TransformerModel::choice(const char* key, std::initializer_list<const char*> names) const {
  if (!file_->has_metadata(key)) return 0;
  int number = 0;
  for (const char* const name : names) {
    if (file_->metadata(key) == name) return number;
    ++number;
  }
  file_->fail("its " + std::string(key) + " '" + file_->metadata(key) + "' is unknown to this version of the engine");
}

Activation TransformerModel::read_activation() const {
  if (!file_->has_metadata("activation")) return flag("swish", false) ? Activation::swish : Activation::relu;
  return (Activation)choice("activation", {"relu", "swish", "gelu", "gelu_tanh"});
}

Norm TransformerModel::norm(const std::string& name) const {
  if (!root_mean_square_) return Model::norm(name, units, epsilon_);
  return {file_->floats(name + ".scale", {(size_t)units}), nullptr, epsilon_};
}

void TransformerModel::read_shape() {
  units = Model::units("units");
  shape.source_units = shape.target_units = shape.output_units = units;
  encoder_heads = count("encoder_heads", 1, kMostUnits);
  decoder_heads = count("decoder_heads", 1, kMostUnits);
  encoder_head_units = count("encoder_head_units", 1, kMostUnits);
  decoder_head_units = count("decoder_head_units", 1, kMostUnits);
  encoder_scale = 1.0f / std::sqrt((float)encoder_head_units);
  decoder_scale = 1.0f / std::sqrt((float)decoder_head_units);
  encoder_head_units = padded(encoder_head_units);
  decoder_head_units = padded(decoder_head_units);
  shape.attention_layers = count("decoder_layers", 1, 1000);
  shape.attention_heads = decoder_heads;
  pre_norm = file_->flag("pre_norm");
  epsilon_ = (float)file_->real("epsilon");
  if (!(epsilon_ >= 0)) file_->fail("its epsilon is negative");
  root_mean_square_ = choice("norm", {"layer", "rms"});
  history = (History)choice("decoder", {"self-attention", "averaging", "ssru"});
}

Attention TransformerModel::attention(const std::string& name, int width, bool of_source) {
  Attention result;
  result.queries = linear(name + ".queries", of_source ? width : 3 * width, units);
  if (of_source) result.memory = linear(name + ".memory", 2 * width, units);
  result.output = linear(name + ".output", units, width);
  result.norm = norm(name + ".norm");
  return result;
}

FeedForward TransformerModel::feed_forward(const std::string& name, int inner_units, Activation activation,
                                           bool gated) {
  return {linear(name + ".inner", gated ? 2 * inner_units : inner_units, units),
          linear(name + ".outer", units, inner_units), norm(name + ".norm"), activation, gated};
}

Averaging TransformerModel::averaging(const std::string& name) {
  Averaging result;
  if (file_->has_metadata("averaging_units"))
    result.feed_forward = feed_forward(name, Model::units("averaging_units", 4 * kMostUnits),
                                       file_->flag("averaging_swish") ? Activation::swish : Activation::relu, false);
  else
    result.feed_forward.norm = norm(name + ".norm");
  if (file_->flag("gated")) {
    result.input_gate = linear(name + ".input_gate", units, units);
    result.mean_gate = linear(name + ".mean_gate", units, units);
  }
  return result;
}

std::unique_ptr<Network> TransformerModel::network() const { return std::make_unique<Transformer>(*this); }

void TransformerModel::read_positions() {
  position_count = 1 << 20;
  if (file_->has_metadata("positions")) {
    if (file_->metadata("positions") != "none") file_->fail("its positions are neither stored nor 'none'");
    zeros_.assign((size_t)units, 0.f);
    position_count = kBlocks * kSinusoids;
  } else if (file_->has("positions")) {
    positions_[0] = positions_[1] = stored_positions("positions");
  } else if (file_->has("encoder.positions") || file_->has("decoder.positions")) {
    positions_[0] = stored_positions("encoder.positions");
    positions_[1] = stored_positions("decoder.positions");
  } else {
    position_count = kBlocks * kSinusoids;
    sinusoids_.get((size_t)position_count * units);
  }
}

// Learned or computed positions, [number][units]; the side that has fewer limits the model.
const float* TransformerModel::stored_positions(const std::string& name) {
  const Tensor& stored = file_->tensor(name);
  if (stored.shape.empty() || stored.shape[0] < 1 || stored.shape[0] > 1 << 20) file_->fail("it has no positions");
  position_count = std::min(position_count, (int)stored.shape[0]);
  return file_->floats(name, {stored.shape[0], (size_t)units});
}

void TransformerModel::read_relative_positions() {
  const int buckets = count("relative_buckets", 4, 1 << 16), far = count("relative_distance", buckets / 2 + 1, 1 << 20);
  if (buckets % 2) file_->fail("its relative positions have an odd number of buckets");
  if (history != History::self_attention) file_->fail("relative positions need a decoder with self-attention");
  position_count = std::min(position_count, kBlocks * kSinusoids);
  const auto set = [&](RelativePositions& relative, const char* name, int heads, bool both_directions) {
    const float* const biases = file_->floats(name, {(size_t)heads, (size_t)buckets});
    relative.set(biases, heads, buckets, far, position_count, both_directions);
  };
  set(encoder_relative, "encoder.relative", encoder_heads, true);
  set(decoder_relative, "decoder.relative", decoder_heads, false);
}

// Sines, then cosines, of positions from 1; wave lengths grow to 10,000 x 2 pi in units / 2 - 1 steps (OpenNMT-tf).
// Functions are of double, rounded: those of float differ in the last bits between C libraries.
void TransformerModel::compute_positions(int block) const {
  const std::lock_guard<std::mutex> lock(computing_);
  if (computed_[block].load(std::memory_order_relaxed)) return;
  const size_t width = (size_t)units, half = width / 2;
  const float step = (float)std::log(10000.0) / (float)(half - 1);
  for (size_t p = (size_t)block * kSinusoids; p < (size_t)(block + 1) * kSinusoids; ++p) {
    float* const row = sinusoids_.data() + p * width;
    for (size_t i = 0; i < half; ++i) {
      const float angle = (float)(p + 1) * (float)std::exp((double)(-step * (float)i));
      row[i] = (float)std::sin((double)angle);
      row[half + i] = (float)std::cos((double)angle);
    }
  }
  computed_[block].store(true, std::memory_order_release);
}

std::vector<Linear*> TransformerModel::linears() {
  std::vector<Linear*> found;
  const auto add = [&](std::initializer_list<Linear*> products) {
    for (Linear* const weights : products)
      if (weights->outputs) found.push_back(weights);
  };
  for (EncoderLayer& layer : encoder)
    add({&layer.self.queries, &layer.self.output, &layer.feed_forward.inner, &layer.feed_forward.outer});
  for (DecoderLayer& layer : decoder)
    add({&layer.self.queries, &layer.self.output, &layer.averaging.feed_forward.inner,
         &layer.averaging.feed_forward.outer, &layer.averaging.input_gate, &layer.averaging.mean_gate,
         &layer.recurrence.gates, &layer.source.queries, &layer.source.memory, &layer.source.output,
         &layer.feed_forward.inner, &layer.feed_forward.outer});
  return found;
}

}  // namespace nmt
