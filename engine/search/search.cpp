#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/dispatch.h"
#include "runtime/error.h"

namespace nmt {

float normalisation(const Options& options, int length) {
  const float base = options.wu ? (5.f + (float)length) / 6.f : (float)length;
  return std::pow(base, options.length_penalty);
}

void block_ngrams(const std::vector<int32_t>& pieces, const Options& options, const OutputLayer& output, int sentence,
                  float* scores) {
  const int n = options.blocked_ngram, places = (int)pieces.size() - n + 1;  // number of n-grams
  if (n < 1 || places < 1) return;
  const int32_t* const first = pieces.data();
  const int32_t* const ending = first + places;  // start of the n-gram that the next piece would complete
  const auto block = [&](int place) {
    const int column = output.column(sentence, first[place + n - 1]);
    if (column >= 0) scores[column] = kNever;
  };
  int place = 0;
  for (; options.on.parallel_scan && place + kPanel <= places; place += kPanel)
    for (uint32_t found = kernels().repeats(first + place, ending, n - 1); found; found &= found - 1)
      block(place + __builtin_ctz(found));
  for (; place < places; ++place)
    if (std::equal(ending, ending + n - 1, first + place)) block(place);
}

void Search::check(const Batch& batch, const Options& options) const {
  const Shape& shape = model_.shape;
  if (options.beam_size < 1 || options.beam_size > 256)
    throw Error("the beam size must be from 1 to 256, not " + std::to_string(options.beam_size));
  if (options.n_best < 1 || options.n_best > options.beam_size)
    throw Error("n-best must be from 1 to the beam size, not " + std::to_string(options.n_best));
  if (options.longest < 1 || options.shortest < 0 || options.shortest > options.longest)
    throw Error("a translation must have from 0 pieces, or more, to 1, or more; not from " +
                std::to_string(options.shortest) + " to " + std::to_string(options.longest));
  if (options.blocked_ngram < 0)
    throw Error("n-grams that may not occur again have from 1 piece, or 0 for none, not " +
                std::to_string(options.blocked_ngram));
  if (!std::isfinite(options.length_penalty)) throw Error("the length penalty must be a finite number");
  if (options.attention_layer >= shape.attention_layers || options.attention_head >= shape.attention_heads)
    throw Error("the decoder has " + std::to_string(shape.attention_layers) + " layers of " +
                std::to_string(shape.attention_heads) + " heads");
  const auto checked = [](const std::vector<int32_t>& pieces, int vocabulary, const char* side) {
    for (const int32_t piece : pieces)
      if (piece < 0 || piece >= vocabulary)
        throw Error("there is no " + std::string(side) + " piece " + std::to_string(piece));
  };
  for (const auto& source : batch.sources) {
    if (source.empty()) throw Error("a sentence has no pieces");
    if (source.size() > (size_t)model_.position_count)
      throw Error("a sentence has " + std::to_string(source.size()) + " pieces, the engine takes " +
                  std::to_string(model_.position_count));
    checked(source, shape.source_pieces, "source");
  }
  if (!batch.prefixes.empty() && batch.prefixes.size() != batch.sources.size())
    throw Error("there must be one prefix for each sentence");
  size_t prefix = 0;
  for (const auto& forced : batch.prefixes) {
    checked(forced, shape.target_pieces, "target");
    prefix = std::max(prefix, forced.size());
  }
  if (prefix + (size_t)options.longest > (size_t)model_.position_count)
    throw Error("a translation may have at most " + std::to_string(model_.position_count) + " pieces with its prefix");
}

Results Search::translate(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  check(batch, options);
  if (batch.sources.empty()) return {};
  try {
    return searched(batch, options, stop);
  } catch (...) {
    network_->reset();
    throw;
  }
}

Results Search::searched(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  network_->watch(options.attention_layer, options.attention_head);
  network_->use(options.on);
  network_->encode(batch.sources);
  output_.prepare(batch, options.candidates, map_, network_->clock);
  return options.beam_size == 1 ? greedy(batch, options, stop) : beams(batch, options, stop);
}

}  // namespace nmt
