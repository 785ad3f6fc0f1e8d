#include "transformer/transformer_model.h"

#include <cmath>

#include "transformer/transformer.h"

namespace nmt {

TransformerModel::TransformerModel(std::unique_ptr<SafeTensors> file) : Model(std::move(file)) {
  read_shape();
  const int encoder_width = encoder_heads * encoder_head_units, decoder_width = decoder_heads * decoder_head_units;
  const int encoder_layers = count("encoder_layers", 1, 1000), decoder_layers = shape.attention_layers;
  for (int l = 0; l < encoder_layers; ++l) {
    const std::string name = "encoder." + std::to_string(l) + ".";
    encoder.push_back({attention(name + "self", encoder_width, false),
                       feed_forward(name + "feed_forward", feed_forward_units, swish_)});
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
    layer.feed_forward = feed_forward(name + "feed_forward", feed_forward_units, swish_);
    decoder.push_back(layer);
  }
  if (pre_norm) {
    encoder_norm = norm("encoder.norm");
    decoder_norm = norm("decoder.norm");
  }
  read_pieces();
  read_positions();
}

void TransformerModel::read_shape() {
  units = Model::units("units");
  shape.source_units = shape.target_units = shape.output_units = units;
  feed_forward_units = Model::units("feed_forward_units", 4 * kMostUnits);
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
  swish_ = file_->has_metadata("swish") && file_->flag("swish");
  const std::string kind = file_->has_metadata("decoder") ? file_->metadata("decoder") : "self-attention";
  if (kind == "averaging")
    history = History::averaging;
  else if (kind == "ssru")
    history = History::simple_recurrence;
  else if (kind != "self-attention")
    file_->fail("its decoder '" + kind + "' is unknown to this version of the engine");
}

Attention TransformerModel::attention(const std::string& name, int width, bool of_source) {
  Attention result;
  result.queries = linear(name + ".queries", of_source ? width : 3 * width, units);
  if (of_source) result.memory = linear(name + ".memory", 2 * width, units);
  result.output = linear(name + ".output", units, width);
  result.norm = norm(name + ".norm");
  return result;
}

FeedForward TransformerModel::feed_forward(const std::string& name, int inner_units, bool swish) {
  return {linear(name + ".inner", inner_units, units), linear(name + ".outer", units, inner_units),
          norm(name + ".norm"), swish};
}

Averaging TransformerModel::averaging(const std::string& name) {
  Averaging result;
  if (file_->has_metadata("averaging_units"))
    result.feed_forward =
        feed_forward(name, Model::units("averaging_units", 4 * kMostUnits), file_->flag("averaging_swish"));
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
  const size_t width = (size_t)units;
  if (file_->has("positions")) {
    const Tensor& stored = file_->tensor("positions");
    if (stored.shape.empty() || stored.shape[0] < 1 || stored.shape[0] > 1 << 20) file_->fail("it has no positions");
    position_count = (int)stored.shape[0];
    positions_ = file_->floats("positions", {stored.shape[0], width});
    return;
  }
  position_count = kBlocks * kSinusoids;
  sinusoids_.get((size_t)position_count * width);
}

// Sines, then cosines, of positions from 1; wave lengths grow to 10,000 x 2 pi in units / 2 - 1 steps (OpenNMT-tf).
void TransformerModel::compute_positions(int block) const {
  const std::lock_guard<std::mutex> lock(computing_);
  if (computed_[block].load(std::memory_order_relaxed)) return;
  const size_t width = (size_t)units, half = width / 2;
  const float step = std::log(10000.f) / (float)(half - 1);
  for (size_t p = (size_t)block * kSinusoids; p < (size_t)(block + 1) * kSinusoids; ++p) {
    float* const row = sinusoids_.data() + p * width;
    for (size_t i = 0; i < half; ++i) {
      const float angle = (float)(p + 1) * std::exp(-step * (float)i);
      row[i] = std::sin(angle);
      row[half + i] = std::cos(angle);
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
