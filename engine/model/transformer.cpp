#include "model/transformer.h"

#include <algorithm>

#include "model/error.h"

namespace nmt {
namespace {

constexpr int kChunk = 200;  // rows of the encoder that pass all its layers together, so that they stay in the cache
constexpr int kBlock = 60;   // rows of a product in the encoder and in feed-forward layers, a multiple of the rows of tiles
constexpr int kSharedQueries = 64;  // from which on threads share the attention of a sentence
constexpr int kSkew = 16;    // floats between hidden rows: rows 4 KiB apart would share sets of the first-level cache

Heads heads(const Shape& shape, bool encoder) {
  Heads result;
  result.count = encoder ? shape.encoder_heads : shape.decoder_heads;
  result.channels = encoder ? shape.encoder_head_units : shape.decoder_head_units;
  result.scale = encoder ? shape.encoder_scale : shape.decoder_scale;
  result.half = !encoder && shape.type != Type::float32;  // the encoder's own stay in the cache
  return result;
}

int width(const Heads& heads) { return heads.count * heads.channels; }

// Keys and values of 16 positions in one layer.
size_t page_bytes(const Heads& heads) { return (size_t)2 * width(heads) * kPagePositions * (heads.half ? 2 : 4); }

// Floats that attention needs for scores over this many positions.
size_t scratch_size(int length) { return (size_t)2 * (length + 2 * kPagePositions); }

}  // namespace

const char* const kComponentNames[kComponents] = {
    "embeddings", "encoder products", "encoder attention", "encoder rows",  "memory",
    "decoder products", "self-attention", "encoder-decoder attention", "decoder rows", "candidates",
    "output layer", "search"};

Transformer::Transformer(const Model& model)
    : product(kernels()),
      model_(model),
      shape_(model.shape),
      kernels_(kernels()),
      type_(model.shape.type),
      encoder_heads_(heads(model.shape, true)),
      decoder_heads_(heads(model.shape, false)),
      pages_(page_bytes(decoder_heads_) * model.shape.decoder_layers),
      encoder_pages_(page_bytes(encoder_heads_)) {}

size_t Transformer::layer_bytes() const { return page_bytes(decoder_heads_); }

float* Transformer::scratch(int length) { return scratch_.get(scratch_size(length)); }

void Transformer::forget() {
  pages_.forget();
  encoder_pages_.forget();
  memory_.clear();
  own_ = PageTable();
}

// Products and the rows between them. scale: Linear::input_scale of the next product.

void Transformer::multiply(const Linear& weights, const Inputs& inputs, int count, const Outputs& to,
                           Component component) {
  Timed timed(clock, component);
  product(weights, inputs, count, to);
}

Inputs Transformer::quantised(const float* rows, int count, int units, int stride, const float* maxima, float scale,
                              Component component) {
  Timed timed(clock, component);
  if (type_ == Type::float32 && stride == units) return {(const char*)rows, nullptr, false};
  const Quantized to = {integers_.get((size_t)count * units * element_bytes(type_)), scales_.get((size_t)count), scale};
  kernels_.quantise(rows, count, units, stride, type_, to, maxima);
  return {to.rows, to.scale, maxima == nullptr};
}

// Layer normalisation, in the type of the next product.
Inputs Transformer::normalised(const Norm& norm, const float* rows, int count, float scale, Component component) {
  Timed timed(clock, component);
  const Quantized to = {integers_.get((size_t)count * shape_.units * element_bytes(type_)),
                        scales_.get((size_t)count), scale};
  kernels_.normalise(rows, count, shape_.units, norm, type_, to, nullptr);
  return {to.rows, to.scale, true};
}

// The inputs of a sub-layer: normalised before it, or as they are where the layer before normalised its result.
Inputs Transformer::prepared(const Norm& norm, const float* rows, int count, float scale, Component component) {
  if (shape_.pre_norm) return normalised(norm, rows, count, scale, component);
  return quantised(rows, count, shape_.units, shape_.units, nullptr, scale, component);
}

// The end of a sub-layer: its product joins the rows, which are normalised here if they are not before the next one.
void Transformer::add(const Linear& weights, const Inputs& inputs, int count, float* rows, const Norm& norm,
                      Component products, Component other) {
  multiply(weights, inputs, count, {rows, shape_.units, Into::add, nullptr}, products);
  if (shape_.pre_norm) return;
  Timed timed(clock, other);
  kernels_.normalise(rows, count, shape_.units, norm, type_, {}, rows);
}

void Transformer::feed_forward(const FeedForward& weights, float* rows, int count, Component products,
                               Component other) {
  const int inner = shape_.feed_forward_units, stride = type_ == Type::float32 ? inner : inner + kSkew;
  for (int start = 0; start < count; start += kBlock, rows += (size_t)kBlock * shape_.units) {
    const int block = std::min(kBlock, count - start);
    float* const hidden = hidden_.get((size_t)block * stride);
    float* const maxima = maxima_.get((size_t)block * kPanel);
    const Inputs inputs = prepared(weights.norm, rows, block, weights.inner.input_scale, other);
    multiply(weights.inner, inputs, block, {hidden, stride, Into::relu, maxima}, products);
    add(weights.outer, quantised(hidden, block, inner, stride, maxima, weights.outer.input_scale, other), block, rows,
        weights.norm, products, other);
  }
}

// The encoder

void Transformer::encode(const std::vector<std::vector<int32_t>>& sentences) {
  for (auto& table : memory_) table.clear(pages_);
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
  float* const rows = rows_.get((size_t)count * shape_.units);
  {
    Timed timed(clock, Component::embeddings);
    float* row = rows;
    const Rows& embeddings = model_.source_embeddings;
    const size_t bytes = embeddings.row_bytes(type_, shape_.units);
    for (int s = first; s < last; ++s)
      for (int position = 0; position < lengths_[s]; ++position, row += shape_.units) {
        const int piece = sentences[s][position];
        kernels_.embed(type_, embeddings.rows + piece * bytes, embeddings.scale ? embeddings.scale[piece] : 1.f,
                       shape_.source_factor, model_.position(position), shape_.units, row);
      }
  }
  for (const EncoderLayer& layer : model_.encoder) {
    encoder_attention(layer, first, last, rows);
    feed_forward(layer.feed_forward, rows, count, Component::encoder_products, Component::encoder_rows);
  }
  remember_source(first, rows, count);
}

void Transformer::encoder_attention(const EncoderLayer& layer, int first, int last, float* rows) {
  const int units = shape_.units, wide = width(encoder_heads_), stride = 3 * wide + kSkew;
  int count = 0;
  for (int s = first; s < last; ++s) count += lengths_[s];
  float* const mixed = mixed_.get((size_t)count * stride);
  float* const contexts = contexts_.get((size_t)count * wide);
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const Linear& queries = layer.self.queries;
    const Inputs inputs = prepared(layer.self.norm, rows + (size_t)start * units, block, queries.input_scale,
                                   Component::encoder_rows);
    multiply(queries, inputs, block, {mixed + (size_t)start * stride, stride, Into::store, nullptr},
             Component::encoder_products);
  }
  {
    Timed timed(clock, Component::encoder_attention);
    const float* row = mixed;
    float* context = contexts;
    for (int s = first; s < last; ++s) {
      const int length = lengths_[s];
      for (int p = 0; p < length; ++p) {
        const float* keys = row + (size_t)p * stride + wide;
        kernels_.remember(encoder_heads_, keys, keys + wide, p % kPagePositions, own_.own(encoder_pages_, p));
      }
      const Cache cache = {own_.data(), 0, length};
      shared_attention(encoder_heads_, row, length, stride, cache, context, wide);
      own_.clear(encoder_pages_);
      row += (size_t)length * stride;
      context += (size_t)length * wide;
    }
  }
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const Inputs inputs = quantised(contexts + (size_t)start * wide, block, wide, wide, nullptr,
                                    layer.self.output.input_scale, Component::encoder_rows);
    add(layer.self.output, inputs, block, rows + (size_t)start * units, layer.self.norm, Component::encoder_products,
        Component::encoder_rows);
  }
}

// Queries of the encoder over the keys of their sentence; the threads of a team take some each.
void Transformer::shared_attention(const Heads& heads, const float* queries, int count, int stride, const Cache& cache,
                                   float* contexts, int context_stride) {
  const int parts = product.team() && count >= kSharedQueries ? product.team()->size() : 1;
  const size_t own = scratch_size(cache.length);
  float* const scratch = scratch_.get(own * parts);
  const auto attend = [&](int part) {
    const int first = count * part / parts, last = count * (part + 1) / parts;
    kernels_.attend(heads, queries + (size_t)first * stride, last - first, stride, cache,
                    contexts + (size_t)first * context_stride, context_stride, nullptr, scratch + own * part);
  };
  if (parts == 1) return attend(0);
  product.team()->run(parts, attend);
}

// Keys and values of the encoder's output for all layers of the decoder, once a sentence.
void Transformer::remember_source(int first, const float* rows, int count) {
  const int wide = width(decoder_heads_);
  int sentence = first, position = 0;
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const float scale = model_.decoder[0].source.memory.input_scale;  // the inputs of all layers are the same
    const Inputs inputs = prepared(model_.encoder_norm, rows + (size_t)start * shape_.units, block, scale,
                                   Component::encoder_rows);
    const int sentence_before = sentence, position_before = position;
    for (size_t l = 0; l < model_.decoder.size(); ++l) {
      float* const mixed = mixed_.get((size_t)block * 2 * wide);
      multiply(model_.decoder[l].source.memory, inputs, block, {mixed, 2 * wide, Into::store, nullptr},
               Component::memory);
      Timed timed(clock, Component::memory);
      sentence = sentence_before, position = position_before;
      for (int r = 0; r < block; ++r) {
        char* const page = memory_[sentence].own(pages_, position);
        const float* const keys = mixed + (size_t)r * 2 * wide;
        kernels_.remember(decoder_heads_, keys, keys + wide, position % kPagePositions, page + l * layer_bytes());
        if (++position == lengths_[sentence]) ++sentence, position = 0;
      }
    }
  }
}

// The decoder

Inputs Transformer::step(const Step* steps, int count) {
  float* const rows = rows_.get((size_t)count * shape_.units);
  {
    Timed timed(clock, Component::embeddings);
    const Rows& embeddings = model_.target_embeddings;
    const size_t bytes = embeddings.row_bytes(type_, shape_.units);
    for (int r = 0; r < count; ++r) {
      const float factor = steps[r].position == 0 && shape_.start_from_zero ? 0 : shape_.target_factor;
      kernels_.embed(type_, embeddings.rows + steps[r].piece * bytes,
                     embeddings.scale ? embeddings.scale[steps[r].piece] : 1.f, factor,
                     model_.position(steps[r].position), shape_.units,
                     rows + (size_t)r * shape_.units);
    }
  }
  const int wide = width(decoder_heads_);
  float* const contexts = contexts_.get((size_t)count * wide);
  for (size_t l = 0; l < model_.decoder.size(); ++l) {
    const DecoderLayer& layer = model_.decoder[l];
    float* const mixed = mixed_.get((size_t)count * (3 * wide + kSkew));
    const auto ask = [&](const Attention& attention, int stride) {
      const float scale = attention.queries.input_scale;
      const Inputs inputs = prepared(attention.norm, rows, count, scale, Component::decoder_rows);
      multiply(attention.queries, inputs, count, {mixed, stride, Into::store, nullptr}, Component::decoder_products);
    };
    const auto answer = [&](const Attention& attention) {
      const float scale = attention.output.input_scale;
      const Inputs inputs = quantised(contexts, count, wide, wide, nullptr, scale, Component::decoder_rows);
      add(attention.output, inputs, count, rows, attention.norm, Component::decoder_products, Component::decoder_rows);
    };
    ask(layer.self, 3 * wide + kSkew);
    self_attention(l * layer_bytes(), steps, count);
    answer(layer.self);
    ask(layer.source, wide);
    source_attention((int)l, steps, count);
    answer(layer.source);
    feed_forward(layer.feed_forward, rows, count, Component::decoder_products, Component::decoder_rows);
  }
  return prepared(model_.decoder_norm, rows, count, model_.output_input_scale, Component::decoder_rows);
}

void Transformer::self_attention(size_t offset, const Step* steps, int count) {
  Timed timed(clock, Component::self_attention);
  const int wide = width(decoder_heads_), stride = 3 * wide + kSkew;
  for (int r = 0; r < count; ++r) {
    const float* const row = mixed_.data() + (size_t)r * stride;
    PageTable& table = steps[r].state->pages;
    const int position = steps[r].position;
    kernels_.remember(decoder_heads_, row + wide, row + 2 * wide, position % kPagePositions,
                      table.own(pages_, position) + offset);
    const Cache cache = {table.data(), offset, position + 1};
    kernels_.attend(decoder_heads_, row, 1, stride, cache, contexts_.data() + (size_t)r * wide, wide, nullptr,
                    scratch(position + 1));
  }
}

void Transformer::source_attention(int number, const Step* steps, int count) {
  Timed timed(clock, Component::encoder_decoder_attention);
  const int wide = width(decoder_heads_);
  const bool watching = number == watched_layer_;
  if (watching) {
    watched_stride_ = 0;
    for (int r = 0; r < count; ++r)
      watched_stride_ = std::max(watched_stride_, (size_t)lengths_[steps[r].state->sentence]);
    watched_.resize(watched_stride_ * (size_t)count);
  }
  for (int r = 0; r < count;) {
    const int sentence = steps[r].state->sentence, length = lengths_[sentence];
    const PageTable& own = steps[r].state->memory;
    int same = 1;  // beams of one sentence share its keys
    while (own.empty() && r + same < count && steps[r + same].state->sentence == sentence) ++same;
    const int padded = (length + kPagePositions - 1) / kPagePositions * kPagePositions;
    float* const weights = watching ? weights_.get((size_t)same * decoder_heads_.count * padded) : nullptr;
    const Cache cache = {(own.empty() ? memory_[sentence] : own).data(), (size_t)number * layer_bytes(), length};
    kernels_.attend(decoder_heads_, mixed_.data() + (size_t)r * wide, same, wide, cache,
                    contexts_.data() + (size_t)r * wide, wide, weights, scratch(length));
    for (int row = 0; watching && row < same; ++row)
      keep_attention(decoder_heads_, weights + (size_t)row * decoder_heads_.count * padded, r + row, length);
    r += same;
  }
}

void Transformer::keep_attention(const Heads& heads, const float* weights, int row, int length) {
  float* const to = watched_.data() + (size_t)row * watched_stride_;
  const int padded = (length + kPagePositions - 1) / kPagePositions * kPagePositions;
  std::fill(to, to + length, 0.f);
  for (int h = 0; h < heads.count; ++h)
    if (watched_head_ < 0 || watched_head_ == h)
      for (int t = 0; t < length; ++t)
        to[t] += weights[(size_t)h * padded + t] / (watched_head_ < 0 ? (float)heads.count : 1.f);
}

}  // namespace nmt
