#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/sampler.h"

namespace nmt {

float normalisation(const Options& options, int length) {
  const float base = options.wu ? (5.f + (float)length) / 6.f : (float)length;
  return (float)std::pow((double)base, (double)options.length_penalty);
}

void Search::append_attention(std::vector<float>& attention, int row, int sentence) const {
  const float* const weights = network_->attention(row);
  attention.insert(attention.end(), weights, weights + network_->source_length(sentence));
}

void Search::block(const std::vector<int32_t>& pieces, const Cursor& cursor, const Options& options,
                   float* scores) const {
  if (cursor.position < cursor.prefix + options.shortest) scores[cursor.end] = kNever;
  block_ngrams(pieces, options, cursor.sentence, scores);
}

void Search::block_ngrams(const std::vector<int32_t>& pieces, const Options& options, int sentence,
                          float* scores) const {
  const int n = options.blocked_ngram, places = (int)pieces.size() - n + 1;  // number of n-grams
  if (n < 1 || places < 0) return;
  const int32_t* const first = pieces.data();
  const int32_t* const ending = first + places;  // start of the n-gram that the next piece would complete
  const int start = model_.shape.start;
  const auto block = [&](int place) {
    const int column = output_.column(sentence, place + n > 0 ? first[place + n - 1] : start);
    if (column >= 0) scores[column] = kNever;
  };
  // The n-gram of the first input and the pieces after it.
  if (options.as_transformers && (n == 1 || (*ending == start && std::equal(ending + 1, ending + n - 1, first))))
    block(-1);
  int place = 0;
  for (; options.on.parallel_scan && place + kPanel <= places; place += kPanel)
    for (uint32_t found = kernels().repeats(first + place, ending, n - 1); found; found &= found - 1)
      block(place + __builtin_ctz(found));
  for (; place < places; ++place)
    if (std::equal(ending, ending + n - 1, first + place)) block(place);
}

Search::Search(const std::vector<const Model*>& models, const VocabularyMap* map)
    : model_(*models.at(0)), use_(model_.use()), map_(map), network_(model_.network()), output_(model_) {
  position_count_ = model_.position_count;
  const Shape& shape = model_.shape;
  for (size_t m = 1; m < models.size(); ++m) {
    const Shape& other = models[m]->shape;
    if (other.source_pieces != shape.source_pieces || other.target_pieces != shape.target_pieces ||
        other.start != shape.start || other.end != shape.end)
      throw Error("model " + std::to_string(m + 1) + " of the ensemble has another vocabulary than the first");
    position_count_ = std::min(position_count_, models[m]->position_count);
    members_.push_back(std::make_unique<Member>(*models[m]));
  }
}

void Search::measure(bool on) {
  network_->clock.on = on;
  for (const auto& member : members_) member->network->clock.on = on;
}

uint64_t Search::ticks(size_t component) const {
  uint64_t sum = network_->clock.ticks[component];
  for (const auto& member : members_) sum += member->network->clock.ticks[component];
  return sum;
}

uint64_t Search::operations() const {
  uint64_t sum = network_->product.operations;
  for (const auto& member : members_) sum += member->network->product.operations;
  return sum;
}

void Search::share(Team* team) {
  network_->product.share(team);
  for (const auto& member : members_) member->network->product.share(team);
}

void Search::begin(const Batch& batch, Candidates candidates, const Switches& on) {
  network_->use(on);
  network_->encode(batch.sources);
  output_.prepare(batch, candidates, map_, network_->clock);
  for (const auto& member : members_) {
    member->network->use(on);
    member->network->encode(batch.sources);
    member->output.follow(output_, member->network->clock);
  }
}

void Search::step(const Step* steps, int count) {
  output_.compute(network_->step(steps, count), count, network_->product, network_->clock);
  for (size_t m = 0; m < members_.size(); ++m) {
    Member& member = *members_[m];
    member.steps.assign(steps, steps + count);
    for (Step& row : member.steps) row.state = &static_cast<States*>(row.state)->others[m];
    Network& network = *member.network;
    member.output.compute(network.step(member.steps.data(), count), count, network.product, network.clock);
  }
}

float* Search::mean_scores(int row, int sentence) {
  float* const own = output_.scores(row, sentence);
  const int columns = output_.columns(sentence);
  rows_.assign(1, own);
  for (const auto& member : members_) rows_.push_back(member->output.scores(row, sentence));
  log_sums_.clear();
  for (const float* scores : rows_) log_sums_.push_back(kernels().log_sum(scores, columns));
  kernels().mean_log(rows_.data(), log_sums_.data(), (int)rows_.size(), columns, own);
  return own;
}

bool Search::takes_rows() const {
  return network_->takes_rows() && std::all_of(members_.begin(), members_.end(),
                                               [](const auto& member) { return member->network->takes_rows(); });
}

void Search::enter_others(States& state) const {
  state.others.resize(members_.size());
  for (State& other : state.others) other.sentence = state.sentence;
}

void Search::inherit_others(States& to, const States& from) {
  for (size_t m = 0; m < members_.size(); ++m) members_[m]->network->inherit(to.others[m], from.others[m]);
}

void Search::copy_memory(States& to, const States* from) {
  network_->copy_memory(to, from);
  for (size_t m = 0; m < members_.size(); ++m)
    members_[m]->network->copy_memory(to.others[m], from ? &from->others[m] : nullptr);
}

void Search::release_others(States& state) {
  for (size_t m = 0; m < state.others.size(); ++m) members_[m]->network->release(state.others[m]);
}

void Search::reset() {
  network_->reset();
  for (const auto& member : members_) member->network->reset();
}

void Search::check(const Batch& batch, const Options& options) const {
  const Shape& shape = model_.shape;
  if (options.beam_size < 1 || options.beam_size > 256)
    throw Error("the beam size must be from 1 to 256, not " + std::to_string(options.beam_size));
  if (options.n_best < 1 || options.n_best > options.beam_size)
    throw Error("n-best must be from 1 to the beam size, not " + std::to_string(options.n_best));
  if (options.sampling.samples && options.beam_size > 1)
    throw Error("samples are drawn without a beam, not with one of " + std::to_string(options.beam_size));
  check_sampling(options.sampling);
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
    if (source.size() > (size_t)position_count_)
      throw Error("a sentence has " + std::to_string(source.size()) + " pieces, the engine takes " +
                  std::to_string(position_count_));
    checked(source, shape.source_pieces, "source");
  }
  if (!batch.prefixes.empty() && batch.prefixes.size() != batch.sources.size())
    throw Error("there must be one prefix for each sentence");
  size_t prefix = 0;
  for (const auto& forced : batch.prefixes) {
    checked(forced, shape.target_pieces, "target");
    prefix = std::max(prefix, forced.size());
  }
  if (prefix + (size_t)options.longest > (size_t)position_count_)
    throw Error("a translation may have at most " + std::to_string(position_count_) + " pieces with its prefix");
}

Results Search::translate(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  check(batch, options);
  if (batch.sources.empty()) return {};
  try {
    return searched(batch, options, stop);
  } catch (...) {
    reset();
    throw;
  }
}

Results Search::searched(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  network_->watch(options.attention_layer, options.attention_head);
  begin(batch, options.candidates, options.on);
  loops_.watch(batch, model_, options.shortest);
  if (options.sampling.samples) return samples(batch, options, stop);
  return options.beam_size == 1 ? greedy(batch, options, stop) : beams(batch, options, stop);
}

}  // namespace nmt
