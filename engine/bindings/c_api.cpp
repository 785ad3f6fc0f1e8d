#include "bindings/c_api.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "architectures.h"
#include "recurrent/cell.h"
#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"

using namespace nmt;

struct nmt_model {
  std::unique_ptr<Model> model;
  std::unique_ptr<VocabularyMap> map;
};

struct nmt_worker {
  explicit nmt_worker(int threads) : team(threads, kernels().release) {}

  Team team;
  std::vector<std::unique_ptr<Search>> searches;  // one for each thread
  std::atomic<bool> stop{false}, busy{false};
};

namespace {

// Calls a function; what it throws becomes one line in `error`.
template <class F>
int guarded(char* error, size_t error_size, F function) {
  try {
    function();
    return 0;
  } catch (const std::bad_alloc&) {
    std::snprintf(error, error_size, "not enough memory");
  } catch (const std::exception& exception) {
    std::snprintf(error, error_size, "%s", exception.what());
  }
  return 1;
}

// Storage behind nmt_results. Each thread has its own, so that no other thread's call overwrites what it still reads.
struct Stored {
  std::vector<int32_t> counts, lengths, pieces, attention_lengths, loops;
  std::vector<float> scores, attention, piece_scores;
};
thread_local Stored stored;

// Claims a worker for one call. At its end clears the stop flag, so that the next call is not stopped by it, and this
// thread's registers of products.
class Claim {
 public:
  explicit Claim(nmt_worker& worker) : worker_(worker) {
    if (worker.busy.exchange(true)) throw Error("another thread uses this worker; open a worker for each thread");
  }
  ~Claim() {
    kernels().release();
    worker_.stop.store(false);
    worker_.busy.store(false);
  }

 private:
  nmt_worker& worker_;
};

std::vector<std::vector<int32_t>> split(const int32_t* lengths, const int32_t* pieces, int count) {
  std::vector<std::vector<int32_t>> sentences((size_t)count);
  for (int s = 0; s < count; ++s) {
    if (lengths[s] < 0) throw Error("a sentence has a negative length");
    sentences[s].assign(pieces, pieces + lengths[s]);
    pieces += lengths[s];
  }
  return sentences;
}

Batch read(const nmt_batch& batch) {
  if (batch.sentences < 0) throw Error("a batch has a negative number of sentences");
  Batch result;
  result.sources = split(batch.source_lengths, batch.sources, batch.sentences);
  if (batch.prefix_lengths) result.prefixes = split(batch.prefix_lengths, batch.prefixes, batch.sentences);
  return result;
}

Switches switches(uint32_t without) {
  if (without >> kSwitches) throw Error("there is no switch of bit " + std::to_string(kSwitches) + " or above");
  return Switches(without);
}

Options read(const nmt_options& wanted) {
  Options options;
  options.beam_size = wanted.beam_size;
  options.n_best = wanted.n_best;
  options.length_penalty = wanted.length_penalty;
  options.wu = wanted.wu;
  options.shortest = wanted.shortest;
  options.longest = wanted.longest;
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
  if (wanted.vocabulary_map)
    options.candidates = options.on.map_per_sentence ? Candidates::per_sentence : Candidates::per_batch;
  return options;
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

int32_t nmt_interface() { return kInterface; }

int32_t nmt_options_size() { return (int32_t)sizeof(nmt_options); }

int32_t nmt_switches() { return kSwitches; }

const char* nmt_switch_name(int32_t bit) { return bit >= 0 && bit < kSwitches ? kSwitchNames[bit] : nullptr; }

const char* nmt_isa() {
  try {
    return kernels().name;
  } catch (const Error&) {
    return nullptr;
  }
}

const char* nmt_available_sets() { return available_sets(); }

int nmt_open(const char* weights, const char* map, uint32_t without, nmt_model** model, char* error,
             size_t error_size) {
  return guarded(error, error_size, [&] {
    kernels();
    const Switches on = switches(without);
    std::unique_ptr<nmt_model> opened(new nmt_model{open_model(weights), nullptr});
    const Shape& shape = opened->model->shape;
    if (map) opened->map = std::make_unique<VocabularyMap>(map, shape.source_pieces, shape.target_pieces);
    if (!on.packed) opened->model->unpack();
    *model = opened.release();
  });
}

void nmt_close(nmt_model* model) { delete model; }

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

int nmt_open_worker(const nmt_model* const* models, int count, int threads, nmt_worker** worker, char* error,
                    size_t error_size) {
  return guarded(error, error_size, [&] {
    if (count < 1) throw Error("a worker has at least one model");
    if (threads < 1) throw Error("a worker has at least one thread");
    std::vector<const Model*> members;
    for (int m = 0; m < count; ++m) members.push_back(models[m]->model.get());
    auto opened = std::make_unique<nmt_worker>(threads);
    for (int t = 0; t < threads; ++t)
      opened->searches.push_back(std::make_unique<Search>(members, models[0]->map.get()));
    *worker = opened.release();
  });
}

void nmt_close_worker(nmt_worker* worker) { delete worker; }

int nmt_translate(nmt_worker* worker, const nmt_batch* batch, const nmt_options* wanted, nmt_results* results,
                  char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const Options options = read(*wanted);
    const Claim claim(*worker);
    const Results found =
        shared_out(*worker, read(*batch), options.candidates,
                   [&](Search& search, const Batch& share) { return search.translate(share, options, worker->stop); });
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
    *results = {w.counts.data(),
                w.lengths.data(),
                w.pieces.data(),
                w.scores.data(),
                w.attention_lengths.data(),
                w.attention.data(),
                w.loops.data(),
                nullptr,
                (int64_t)w.lengths.size(),
                (int64_t)w.pieces.size(),
                (int64_t)w.attention.size()};
  });
}

int nmt_score(nmt_worker* worker, const nmt_batch* batch, const nmt_options* wanted, int32_t most, nmt_results* results,
              char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const Candidates candidates = read(*wanted).candidates;
    const Claim claim(*worker);
    const auto found = shared_out(*worker, read(*batch), candidates, [&](Search& search, const Batch& share) {
      return search.score(share, candidates, most, worker->stop);
    });
    Stored& w = stored;
    w.scores.clear(), w.pieces.clear(), w.piece_scores.clear();
    for (const Scored& target : found) {
      w.scores.insert(w.scores.end(), target.scores.begin(), target.scores.end());
      w.pieces.insert(w.pieces.end(), target.pieces.begin(), target.pieces.end());
      w.piece_scores.insert(w.piece_scores.end(), target.piece_scores.begin(), target.piece_scores.end());
    }
    *results = {};
    results->scores = w.scores.data();
    results->pieces = w.pieces.data();
    results->piece_scores = w.piece_scores.data();
    results->total_hypotheses = (int64_t)w.scores.size();
    results->total_pieces = (int64_t)w.pieces.size();
  });
}

void nmt_stop(nmt_worker* worker) { worker->stop.store(true); }

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
