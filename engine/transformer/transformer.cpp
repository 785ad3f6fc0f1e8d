#include "transformer/transformer.h"

#include <algorithm>

#include "runtime/error.h"

namespace nmt {
namespace {

constexpr int kChunk = 200;         // rows that pass all encoder layers together, to stay in the cache
constexpr int kSharedQueries = 64;  // queries from which threads share the attention of a sentence
constexpr int kSkew = 16;  // floats between hidden rows: rows 4 KiB apart would share sets of the first-level cache

HeadShape heads(const TransformerModel& model, bool encoder) {
  HeadShape result;
  result.count = encoder ? model.encoder_heads : model.decoder_heads;
  result.channels = encoder ? model.encoder_head_units : model.decoder_head_units;
  result.scale = encoder ? model.encoder_scale : model.decoder_scale;
  result.half = !encoder && model.shape.type != Type::float32;  // the encoder's keys and values stay in the cache
  return result;
}

int width(const HeadShape& heads) { return heads.count * heads.channels; }

// Bytes of a page's keys and values in all decoder layers.
size_t memory_bytes(const TransformerModel& model) { return page_bytes(heads(model, false)) * model.decoder.size(); }

// Page size of a hypothesis' past: pages of keys and values, or one page with a cell per layer.
size_t past_bytes(const TransformerModel& model) {
  if (model.history == History::self_attention) return memory_bytes(model);
  return model.decoder.size() * model.units * sizeof(float);
}

}  // namespace

Transformer::Transformer(const TransformerModel& model)
    : Network(model, past_bytes(model), memory_bytes(model)),
      model_(model),
      encoder_heads_(heads(model, true)),
      decoder_heads_(heads(model, false)),
      encoder_pages_(page_bytes(encoder_heads_)) {}

size_t Transformer::layer_bytes() const { return page_bytes(decoder_heads_); }

void Transformer::reset() {
  Network::reset();
  encoder_pages_.reset();
  encoder_table_ = PageTable();
}

// Products and the operations between them. scale: Linear::input_scale of the next product.

// Layer normalisation, converted to the type of the next product.
Inputs Transformer::normalised(const Norm& norm, const float* rows, int count, float scale, Component component) {
  Timed timed(clock, component);
  const Quantized to = {integers_.get((size_t)count * model_.units * element_bytes(type_)), scales_.get((size_t)count),
                        scale};
  kernels_.normalise(rows, count, model_.units, norm, type_, to, nullptr);
  return {to.rows, to.scale, true};
}

// Normalises rows in place, if there is a norm.
void Transformer::normalise(const Norm& norm, float* rows, int count, Component component) {
  if (!norm.scale) return;
  Timed timed(clock, component);
  kernels_.normalise(rows, count, model_.units, norm, type_, {}, rows);
}

// The outputs of the last layer as inputs of a product: normalised, if there is a norm.
Inputs Transformer::final_inputs(const Norm& norm, const float* rows, int count, float scale, Component component) {
  if (norm.scale) return normalised(norm, rows, count, scale, component);
  return quantised(rows, count, model_.units, model_.units, nullptr, scale, component);
}

// Inputs of a sub-layer: normalised with pre-norm; with post-norm the previous sub-layer did that.
Inputs Transformer::prepared(const Norm& norm, const float* rows, int count, float scale, Component component) {
  if (model_.pre_norm) return normalised(norm, rows, count, scale, component);
  return quantised(rows, count, model_.units, model_.units, nullptr, scale, component);
}

// Ends a sub-layer: adds its product to the rows.
void Transformer::add(const Linear& weights, const Inputs& inputs, int count, float* rows, const Norm& norm,
                      Component products, Component other) {
  multiply(weights, inputs, count, {rows, model_.units, Epilogue::add, nullptr}, products);
  finish(norm, count, rows, other);
}

// With post-norm, normalises the rows at the end of a sub-layer.
void Transformer::finish(const Norm& norm, int count, float* rows, Component component) {
  if (!model_.pre_norm) normalise(norm, rows, count, component);
}

// Hidden rows of a feed-forward layer, converted to inputs of its outer product.
Inputs Transformer::hidden(const FeedForward& weights, const Inputs& inputs, int count, Component products,
                           Component other) {
  const int inner = weights.inner.outputs, units = weights.outer.inputs, skew = type_ == Type::float32 ? 0 : kSkew;
  const bool in_product = weights.activation == Activation::relu && !weights.gated;  // the product computes it
  float* const rows = hidden_.get((size_t)count * (inner + skew));
  float* const maxima = in_product ? maxima_.get((size_t)count * kPanel) : nullptr;
  multiply(weights.inner, inputs, count, {rows, inner + skew, in_product ? Epilogue::relu : Epilogue::store, maxima},
           products);
  if (!in_product) {
    Timed timed(clock, other);
    kernels_.activate(weights.activation, weights.gated, rows, count, units, inner + skew, units + skew);
  }
  return quantised(rows, count, units, units + skew, maxima, weights.outer.input_scale, other);
}

void Transformer::feed_forward(const FeedForward& weights, float* rows, int count, Component products,
                               Component other) {
  for (int start = 0; start < count; start += kernels_.block_rows, rows += (size_t)kernels_.block_rows * model_.units) {
    const int block = std::min(kernels_.block_rows, count - start);
    const Inputs inputs = prepared(weights.norm, rows, block, weights.inner.input_scale, other);
    add(weights.outer, hidden(weights, inputs, block, products, other), block, rows, weights.norm, products, other);
  }
}

// The encoder

void Transformer::encode(const std::vector<std::vector<int32_t>>& sentences) {
  for (auto& table : memory_) table.clear(memory_pages_);
  memory_.resize(sentences.size());
  lengths_.resize(sentences.size());
  const int count = (int)sentences.size();
  for (int first = 0; first < count;) {
    int last = first, rows = 0;
    while (last < count && (last == first || rows + (int)sentences[last].size() <= kChunk))
      rows += (int)sentences[last++].size();
    encode_chunk(sentences, first, last);
    first = last;
  }
}

void Transformer::encode_chunk(const std::vector<std::vector<int32_t>>& sentences, int first, int last) {
  int count = 0;
  for (int s = first; s < last; ++s) count += lengths_[s] = (int)sentences[s].size();
  float* const rows = rows_.get((size_t)count * model_.units);
  {
    Timed timed(clock, Component::embeddings);
    float* row = rows;
    const Rows& embeddings = model_.source_embeddings;
    const size_t bytes = embeddings.row_bytes(type_, model_.units);
    for (int s = first; s < last; ++s)
      for (int position = 0; position < lengths_[s]; ++position, row += model_.units) {
        const int piece = sentences[s][position];
        kernels_.embed(type_, embeddings.rows + piece * bytes, embeddings.scale ? embeddings.scale[piece] : 1.f,
                       model_.shape.source_factor, model_.position(Side::source, position), model_.units, row);
      }
  }
  normalise(model_.encoder_embedding_norm, rows, count, Component::encoder_rows);
  for (const EncoderLayer& layer : model_.encoder) {
    encoder_attention(layer, first, last, rows);
    feed_forward(layer.feed_forward, rows, count, Component::encoder_products, Component::encoder_rows);
  }
  cache_source(first, rows, count);
}

void Transformer::encoder_attention(const EncoderLayer& layer, int first, int last, float* rows) {
  const int units = model_.units, wide = width(encoder_heads_), stride = 3 * wide + kSkew;
  int count = 0;
  for (int s = first; s < last; ++s) count += lengths_[s];
  float* const mixed = mixed_.get((size_t)count * stride);
  float* const contexts = contexts_.get((size_t)count * wide);
  for (int start = 0; start < count; start += kernels_.block_rows) {
    const int block = std::min(kernels_.block_rows, count - start);
    const Linear& queries = layer.self.queries;
    const Inputs inputs =
        prepared(layer.self.norm, rows + (size_t)start * units, block, queries.input_scale, Component::encoder_rows);
    multiply(queries, inputs, block, {mixed + (size_t)start * stride, stride, Epilogue::store, nullptr},
             Component::encoder_products);
  }
  {
    Timed timed(clock, Component::encoder_attention);
    const float* row = mixed;
    float* context = contexts;
    for (int s = first; s < last; ++s) {
      const int length = lengths_[s];
      for (int p = 0; p < length; p += kPagePositions) {
        const float* keys = row + (size_t)p * stride + wide;
        kernels_.write_positions(encoder_heads_, keys, keys + wide, stride, 0, std::min(kPagePositions, length - p),
                                 encoder_table_.writable(encoder_pages_, p));
      }
      const RelativePositions& relative = model_.encoder_relative;
      const Cache cache = {encoder_table_.data(), 0, length, relative.of(0), relative.stride()};
      shared_attention(encoder_heads_, row, length, stride, cache, context, wide);
      encoder_table_.clear(encoder_pages_);
      row += (size_t)length * stride;
      context += (size_t)length * wide;
    }
  }
  for (int start = 0; start < count; start += kernels_.block_rows) {
    const int block = std::min(kernels_.block_rows, count - start);
    const Inputs inputs = quantised(contexts + (size_t)start * wide, block, wide, wide, nullptr,
                                    layer.self.output.input_scale, Component::encoder_rows);
    add(layer.self.output, inputs, block, rows + (size_t)start * units, layer.self.norm, Component::encoder_products,
        Component::encoder_rows);
  }
}

// Self-attention of a sentence in the encoder; the threads of a team divide the queries.
void Transformer::shared_attention(const HeadShape& heads, const float* queries, int count, int stride,
                                   const Cache& cache, float* contexts, int context_stride) {
  const int parts = product.team() && count >= kSharedQueries ? product.team()->size() : 1;
  const size_t own = scratch_size(cache.length);
  float* const scratch = scratch_.get(own * parts);
  const auto attend = [&](int part) {
    const int first = count * part / parts, last = count * (part + 1) / parts;
    Cache own_cache = cache;
    if (cache.biases) own_cache.biases -= first;
    kernels_.attend(heads, queries + (size_t)first * stride, last - first, stride, own_cache,
                    contexts + (size_t)first * context_stride, context_stride, nullptr, scratch + own * part);
  };
  if (parts == 1) return attend(0);
  product.team()->run(parts, attend);
}

// Computes keys and values of the encoder's output for all decoder layers, once per sentence.
void Transformer::cache_source(int first, const float* rows, int count) {
  const int wide = width(decoder_heads_);
  int sentence = first, position = 0;
  for (int start = 0; start < count; start += kernels_.block_rows) {
    const int block = std::min(kernels_.block_rows, count - start);
    const float scale = model_.decoder[0].source.memory.input_scale;  // all layers have the same inputs
    const Inputs inputs =
        final_inputs(model_.encoder_norm, rows + (size_t)start * model_.units, block, scale, Component::encoder_rows);
    const int sentence_before = sentence, position_before = position;
    for (size_t l = 0; l < model_.decoder.size(); ++l) {
      float* const mixed = mixed_.get((size_t)block * 2 * wide);
      multiply(model_.decoder[l].source.memory, inputs, block, {mixed, 2 * wide, Epilogue::store, nullptr},
               Component::memory);
      Timed timed(clock, Component::memory);
      sentence = sentence_before, position = position_before;
      for (int r = 0, some; r < block; r += some) {
        char* const page = memory_[sentence].writable(memory_pages_, position);
        const float* const keys = mixed + (size_t)r * 2 * wide;
        const int place = position % kPagePositions;
        some = std::min({kPagePositions - place, lengths_[sentence] - position, block - r});
        kernels_.write_positions(decoder_heads_, keys, keys + wide, 2 * wide, place, some, page + l * layer_bytes());
        if ((position += some) == lengths_[sentence]) ++sentence, position = 0;
      }
    }
  }
}

// The decoder

Inputs Transformer::step(const Step* steps, int count) {
  float* const rows = rows_.get((size_t)count * model_.units);
  {
    Timed timed(clock, Component::embeddings);
    const Shape& shape = model_.shape;
    const Rows& embeddings = model_.target_embeddings;
    const size_t bytes = embeddings.row_bytes(type_, model_.units);
    for (int r = 0; r < count; ++r) {
      const float factor = steps[r].position == 0 && shape.start_from_zero ? 0 : shape.target_factor;
      kernels_.embed(type_, embeddings.rows + steps[r].piece * bytes,
                     embeddings.scale ? embeddings.scale[steps[r].piece] : 1.f, factor,
                     model_.position(Side::target, steps[r].position), model_.units, rows + (size_t)r * model_.units);
    }
  }
  normalise(model_.decoder_embedding_norm, rows, count, Component::decoder_rows);
  contexts_.get((size_t)count * width(decoder_heads_));
  for (size_t l = 0; l < model_.decoder.size(); ++l) {
    const DecoderLayer& layer = model_.decoder[l];
    history_layer(l, steps, count, rows);
    project_queries(layer.source, rows, count, width(decoder_heads_));
    source_attention((int)l, steps, count);
    project_output(layer.source, count, rows);
    feed_forward(layer.feed_forward, rows, count, Component::decoder_products, Component::decoder_rows);
  }
  return final_inputs(model_.decoder_norm, rows, count, model_.output_input_scale, Component::decoder_rows);
}

// project_queries(): projects rows to queries in mixed_. project_output(): projects contexts_ and adds them to rows.
void Transformer::project_queries(const Attention& attention, const float* rows, int count, int stride) {
  float* const mixed = mixed_.get((size_t)count * stride);
  const float scale = attention.queries.input_scale;
  const Inputs inputs = prepared(attention.norm, rows, count, scale, Component::decoder_rows);
  multiply(attention.queries, inputs, count, {mixed, stride, Epilogue::store, nullptr}, Component::decoder_products);
}

void Transformer::project_output(const Attention& attention, int count, float* rows) {
  const int wide = width(decoder_heads_);
  const float scale = attention.output.input_scale;
  const Inputs inputs = quantised(contexts_.data(), count, wide, wide, nullptr, scale, Component::decoder_rows);
  add(attention.output, inputs, count, rows, attention.norm, Component::decoder_products, Component::decoder_rows);
}

void Transformer::history_layer(size_t layer, const Step* steps, int count, float* rows) {
  if (model_.history == History::averaging) return averaging(layer, steps, count, rows);
  if (model_.history == History::simple_recurrence) return simple_recurrence(layer, steps, count, rows);
  const Attention& attention = model_.decoder[layer].self;
  project_queries(attention, rows, count, 3 * width(decoder_heads_) + kSkew);
  self_attention(layer, steps, count);
  project_output(attention, count, rows);
}

void Transformer::self_attention(size_t layer, const Step* steps, int count) {
  Timed timed(clock, Component::self_attention);
  const int wide = width(decoder_heads_), stride = 3 * wide + kSkew;
  const size_t offset = layer * layer_bytes();
  for (int r = 0; r < count; ++r) {
    const float* const row = mixed_.data() + (size_t)r * stride;
    PageTable& table = steps[r].state->past;
    const int position = steps[r].position;
    kernels_.write_cache(decoder_heads_, row + wide, row + 2 * wide, position % kPagePositions,
                         table.writable(pages_, position) + offset);
    const RelativePositions& relative = model_.decoder_relative;
    const Cache cache = {table.data(), offset, position + 1, relative.of(position), relative.stride()};
    kernels_.attend(decoder_heads_, row, 1, stride, cache, contexts_.data() + (size_t)r * wide, wide, nullptr,
                    scratch(position + 1));
  }
}

// The recurrent state of a hypothesis in a layer, [units]; zeros before its first step.
float* Transformer::cell(size_t layer, const Step& step) {
  float* const cells = (float*)step.state->past.writable(pages_, 0) + layer * model_.units;
  if (step.position == 0) std::fill(cells, cells + model_.units, 0.f);
  return cells;
}

void Transformer::averaging(size_t layer, const Step* steps, int count, float* rows) {
  const Averaging& weights = model_.decoder[layer].averaging;
  const FeedForward& feed_forward = weights.feed_forward;
  const size_t units = (size_t)model_.units;
  const bool gated = weights.input_gate.outputs, deep = feed_forward.inner.outputs, straight = !gated && !deep;
  float* const mixed = mixed_.get((size_t)count * 2 * units);
  float* const inputs = model_.pre_norm ? mixed : rows;
  float* const means = straight ? rows : mixed + count * units;
  if (model_.pre_norm) {
    Timed timed(clock, Component::decoder_rows);
    kernels_.normalise(rows, count, model_.units, feed_forward.norm, type_, {}, inputs);
  }
  {
    Timed timed(clock, Component::self_attention);
    for (int r = 0; r < count; ++r)
      kernels_.average(inputs + r * units, cell(layer, steps[r]), 1.f / (float)(steps[r].position + 1), model_.units,
                       straight, means + r * units);
  }
  if (deep) {
    const Inputs ready = quantised(means, count, model_.units, model_.units, nullptr, feed_forward.inner.input_scale,
                                   Component::decoder_rows);
    const Inputs inner = hidden(feed_forward, ready, count, Component::decoder_products, Component::decoder_rows);
    const Outputs to = gated ? Outputs{means, model_.units, Epilogue::store, nullptr}
                             : Outputs{rows, model_.units, Epilogue::add, nullptr};
    multiply(feed_forward.outer, inner, count, to, Component::decoder_products);
  }
  if (gated) gate(weights, inputs, means, count, rows);
  finish(feed_forward.norm, count, rows, Component::decoder_rows);
}

// rows += sigmoid(input gate) * inputs + sigmoid(mean gate) * means.
void Transformer::gate(const Averaging& weights, const float* inputs, const float* means, int count, float* rows) {
  const size_t units = (size_t)model_.units, size = count * units;
  float* const gates = gates_.get(2 * size);
  const auto compute = [&](const Linear& product, const float* from, float* to) {
    const Inputs ready =
        quantised(from, count, model_.units, model_.units, nullptr, product.input_scale, Component::decoder_rows);
    multiply(product, ready, count, {to, model_.units, Epilogue::store, nullptr}, Component::decoder_products);
  };
  compute(weights.input_gate, inputs, gates);
  compute(weights.mean_gate, means, gates + size);
  Timed timed(clock, Component::self_attention);
  for (size_t at = 0; at < size; at += units)
    kernels_.add_gated(inputs + at, gates + at, means + at, gates + size + at, model_.units, rows + at);
}

void Transformer::simple_recurrence(size_t layer, const Step* steps, int count, float* rows) {
  const SimpleRecurrence& weights = model_.decoder[layer].recurrence;
  const size_t units = (size_t)model_.units;
  float* const gates = mixed_.get((size_t)count * 2 * units);
  const Inputs inputs = prepared(weights.norm, rows, count, weights.gates.input_scale, Component::decoder_rows);
  multiply(weights.gates, inputs, count, {gates, 2 * model_.units, Epilogue::store, nullptr},
           Component::decoder_products);
  {
    Timed timed(clock, Component::self_attention);
    for (int r = 0; r < count; ++r)
      kernels_.simple_recurrence(gates + r * 2 * units, cell(layer, steps[r]), model_.units, rows + r * units);
  }
  finish(weights.norm, count, rows, Component::decoder_rows);
}

void Transformer::source_attention(int layer, const Step* steps, int count) {
  const int wide = width(decoder_heads_);
  attend_source(steps, count, layer, decoder_heads_.count, (size_t)layer * layer_bytes(),
                [&](int row, int rows, const Cache& cache, float* weights, float* scratch) {
                  kernels_.attend(decoder_heads_, mixed_.data() + (size_t)row * wide, rows, wide, cache,
                                  contexts_.data() + (size_t)row * wide, wide, weights, scratch);
                });
}

}  // namespace nmt
