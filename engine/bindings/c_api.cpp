#include <algorithm>
#include <cstring>
#include <string>

#include "architectures.h"
#include "bindings/handles.h"

using namespace nmt;

namespace {

// Storage behind nmt_results. Each thread has its own, so that no other thread's call overwrites what it still reads.
struct Stored {
  std::vector<int32_t> counts, lengths, pieces, attention_lengths, loops;
  std::vector<float> scores, attention, piece_scores;
  nmt_results results;
};
thread_local Stored stored;

std::vector<std::vector<int32_t>> split(const int32_t* lengths, const int32_t* pieces, int count) {
  std::vector<std::vector<int32_t>> sentences((size_t)count);
  for (int s = 0; s < count; ++s) {
    if (lengths[s] < 0) throw Error("a sentence has a negative length");
    sentences[s].assign(pieces, pieces + lengths[s]);
    pieces += lengths[s];
  }
  return sentences;
}

Batch batch_of(const nmt_batch& batch) {
  if (batch.sentences < 0) throw Error("a batch has a negative number of sentences");
  Batch result;
  result.sources = split(batch.source_lengths, batch.sources, batch.sentences);
  if (batch.prefix_lengths) result.prefixes = split(batch.prefix_lengths, batch.prefixes, batch.sentences);
  return result;
}

// The sentences [first, last) of a batch.
Batch part(const Batch& batch, size_t first, size_t last) {
  Batch result;
  result.sources.assign(batch.sources.begin() + first, batch.sources.begin() + last);
  if (!batch.prefixes.empty()) result.prefixes.assign(batch.prefixes.begin() + first, batch.prefixes.begin() + last);
  return result;
}

// The end of each thread's share of the sentences; shares have about equally many pieces.
std::vector<size_t> shares(const Batch& batch, size_t threads) {
  size_t total = 0, pieces = 0;
  for (const auto& source : batch.sources) total += source.size();
  std::vector<size_t> ends;
  for (size_t s = 0; s < batch.sources.size(); ++s) {
    pieces += batch.sources[s].size();
    if (ends.size() + 1 < threads && pieces * threads >= total * (ends.size() + 1)) ends.push_back(s + 1);
  }
  ends.push_back(batch.sources.size());
  return ends;
}

// Divides the batch between the threads, calls work(search, sentences) for each share, and returns the results in the
// order of the sentences. A batch is not divided if its sentences share candidates; the threads share its products
// then.
template <class F>
auto shared_out(nmt_worker& worker, const Batch& batch, Candidates candidates, F work) {
  using Result = decltype(work(*worker.searches[0], batch));
  const bool together = worker.team.size() == 1 || batch.sources.size() < 2 || candidates == Candidates::per_batch;
  worker.searches[0]->share(together && worker.team.size() > 1 ? &worker.team : nullptr);
  if (together) return work(*worker.searches[0], batch);
  const std::vector<size_t> ends = shares(batch, worker.searches.size());
  std::vector<Result> results(ends.size());
  worker.team.run((int)ends.size(),
                  [&](int t) { results[t] = work(*worker.searches[t], part(batch, t ? ends[t - 1] : 0, ends[t])); });
  Result result = std::move(results[0]);
  for (size_t t = 1; t < results.size(); ++t)
    for (auto& entry : results[t]) result.push_back(std::move(entry));
  return result;
}

// The options of a program, which may be older than this library and know fewer.
nmt_options whole(const nmt_options& given) {
  nmt_options options = NMT_DEFAULTS;
  if (given.size < (int32_t)sizeof(int32_t) || given.size > options.size)
    throw Error("the options have " + std::to_string(given.size) + " bytes, not up to " + std::to_string(options.size) +
                ": begin with NMT_DEFAULTS, and call a library that is no older than the program");
  std::memcpy(&options, &given, (size_t)given.size);
  return options;
}

}  // namespace

namespace nmt {

Switches switches(uint32_t without) {
  if (without >> kSwitches) throw Error("there is no switch of bit " + std::to_string(kSwitches) + " or above");
  return Switches(without);
}

Options options_of(const nmt_options& given, const nmt_model& model) {
  const nmt_options wanted = whole(given);
  Options options;
  options.beam_size = wanted.beam_size;
  options.n_best = wanted.n_best;
  options.length_penalty = wanted.length_penalty;
  options.wu = wanted.wu;
  options.shortest = wanted.shortest;
  options.longest = wanted.longest || !model.folder ? wanted.longest : model.folder->longest();
  options.blocked_ngram = wanted.blocked_ngram;
  options.scores = wanted.scores;
  options.attention_layer = wanted.attention_layer;
  options.attention_head = wanted.attention_head;
  if (wanted.stop < 0 || wanted.stop >= (int32_t)Stop::count)
    throw Error("there is no way to stop of number " + std::to_string(wanted.stop));
  options.stop = (Stop)wanted.stop;
  options.as_transformers = wanted.as_transformers;
  options.forced_end = wanted.forced_end;
  options.sampling = {wanted.samples, wanted.temperature, wanted.top_k, wanted.top_p, wanted.epsilon, wanted.seed};
  options.on = switches(wanted.without);
  if (wanted.vocabulary_map && (model.map || !model.folder))
    options.candidates = options.on.map_per_sentence ? Candidates::per_sentence : Candidates::per_batch;
  return options;
}

Results translated(nmt_worker& worker, const Batch& batch, const Options& options) {
  return shared_out(worker, batch, options.candidates,
                    [&](Search& search, const Batch& share) { return search.translate(share, options, worker.stop); });
}

}  // namespace nmt

int32_t nmt_interface() { return 1000 * NMT_INTERFACE_MAJOR + NMT_INTERFACE_MINOR; }

const char* nmt_isa() {
  try {
    return kernels().name;
  } catch (const Error&) {
    return nullptr;
  }
}

const char* nmt_available_sets() { return available_sets(); }

int32_t nmt_has_text() { return has_text(); }

int nmt_open_folder(const char* path, nmt_model** model, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    kernels();
    auto folder = std::make_unique<ModelFolder>(path);
    auto tokenizer = open_tokenizer(*folder);
    auto opened = std::make_unique<nmt_model>(
        nmt_model{open_model(folder->file("weights.safetensors")), nullptr, nullptr, nullptr});
    const Shape& shape = opened->model->shape;
    if (folder->mapped())
      opened->map =
          std::make_unique<VocabularyMap>(folder->file("map.safetensors"), shape.source_pieces, shape.target_pieces);
    opened->model->end_loops(folder->source_texts(), folder->target_texts());
    opened->folder = std::move(folder);
    opened->tokenizer = std::move(tokenizer);
    *model = opened.release();
  });
}

void nmt_close(nmt_model* model) { delete model; }

int32_t nmt_longest_line(const nmt_model* model) {
  return (int32_t)model->folder->longest_input(model->model->position_count);
}

int32_t nmt_longest_translation(const nmt_model* model) { return model->folder->longest(); }

int nmt_open_worker(nmt_model* const* models, int32_t count, int32_t threads, nmt_worker** worker, char* error,
                    size_t error_size) {
  return guarded(error, error_size, [&] {
    if (count < 1) throw Error("a worker has at least one model");
    if (threads < 1) throw Error("a worker has at least one thread");
    std::vector<const Model*> members;
    for (int m = 0; m < count; ++m) members.push_back(models[m]->model.get());
    auto opened = std::make_unique<nmt_worker>(threads);
    opened->first = models[0];
    opened->positions = members[0]->position_count;
    for (const Model* member : members) opened->positions = std::min(opened->positions, member->position_count);
    for (int t = 0; t < threads; ++t)
      opened->searches.push_back(std::make_unique<Search>(members, models[0]->map.get()));
    *worker = opened.release();
  });
}

void nmt_close_worker(nmt_worker* worker) { delete worker; }

int nmt_translate(nmt_worker* worker, const nmt_batch* batch, const nmt_options* wanted, const nmt_results** results,
                  char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const Options options = options_of(*wanted, *worker->first);
    const Claim claim(*worker);
    const Results found = translated(*worker, batch_of(*batch), options);
    Stored& w = stored;
    w.counts.clear(), w.lengths.clear(), w.pieces.clear(), w.scores.clear();
    w.attention_lengths.clear(), w.attention.clear(), w.loops.clear();
    for (const auto& hypotheses : found) {
      w.counts.push_back((int32_t)hypotheses.size());
      for (const Hypothesis& hypothesis : hypotheses) {
        w.lengths.push_back((int32_t)hypothesis.tokens.size());
        w.pieces.insert(w.pieces.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
        w.scores.push_back(hypothesis.score);
        w.loops.push_back(hypothesis.loop);
        w.attention_lengths.push_back((int32_t)hypothesis.attention.size());
        w.attention.insert(w.attention.end(), hypothesis.attention.begin(), hypothesis.attention.end());
      }
    }
    w.results = {(int64_t)w.lengths.size(),
                 (int64_t)w.pieces.size(),
                 (int64_t)w.attention.size(),
                 w.counts.data(),
                 w.lengths.data(),
                 w.pieces.data(),
                 w.scores.data(),
                 w.attention_lengths.data(),
                 w.attention.data(),
                 w.loops.data(),
                 nullptr};
    *results = &w.results;
  });
}

int nmt_score(nmt_worker* worker, const nmt_batch* batch, const nmt_options* wanted, int32_t most,
              const nmt_results** results, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const Candidates candidates = options_of(*wanted, *worker->first).candidates;
    const Claim claim(*worker);
    const auto found = shared_out(*worker, batch_of(*batch), candidates, [&](Search& search, const Batch& share) {
      return search.score(share, candidates, most, worker->stop);
    });
    Stored& w = stored;
    w.scores.clear(), w.pieces.clear(), w.piece_scores.clear();
    for (const Scored& target : found) {
      w.scores.insert(w.scores.end(), target.scores.begin(), target.scores.end());
      w.pieces.insert(w.pieces.end(), target.pieces.begin(), target.pieces.end());
      w.piece_scores.insert(w.piece_scores.end(), target.piece_scores.begin(), target.piece_scores.end());
    }
    w.results = {};
    w.results.hypotheses = (int64_t)w.scores.size();
    w.results.total_pieces = (int64_t)w.pieces.size();
    w.results.scores = w.scores.data();
    w.results.pieces = w.pieces.data();
    w.results.piece_scores = w.piece_scores.data();
    *results = &w.results;
  });
}

void nmt_stop(nmt_worker* worker) { worker->stop.store(true); }
