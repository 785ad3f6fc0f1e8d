// Requests and results of a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "model/switches.h"

namespace nmt {

enum class Candidates : int32_t {
  all,           // every target piece
  per_sentence,  // those that the vocabulary map allows for the sentence
  per_batch,     // those that it allows for any sentence of the batch, as in CTranslate2
};

// When a sentence is done in beam search: as in CTranslate2 (beam.cpp), with `beam_size` finished hypotheses, or not
// before no live one would beat the worst of them at its own length, or at the longest. The last three are
// early_stopping of transformers: true, false and "never".
enum class Stop : int32_t { early, full, likely, never, count };

// Translations that are drawn instead of searched for. A piece is drawn from those that top_k, top_p and epsilon all keep,
// by probability^(1 / temperature); the most probable one is always kept.
struct Sampling {
  int samples = 0;  // of each sentence; 0: search
  float temperature = 1;
  int top_k = 0;      // keeps so many of the most probable pieces; 0: all
  float top_p = 1;    // keeps the fewest of them that have this probability together
  float epsilon = 0;  // keeps those of at least this probability
  int seed = 0;
};

struct Options {
  int beam_size = 1;  // 1: greedy
  int n_best = 1;     // at most beam_size
  // Score of a finished hypothesis: log probability / length^penalty or, with `wu`, / ((5 + length) / 6)^penalty (Wu et
  // al. 2016); the length includes the end piece.
  float length_penalty = 1;
  bool wu = false;
  int shortest = 0, longest = 150;  // in pieces, without the end
  int blocked_ngram = 0;            // n: no n-gram occurs more than once; 0: off
  Candidates candidates = Candidates::all;
  bool scores = false;       // compute scores in greedy search, which otherwise needs no softmax
  int attention_layer = -1;  // decoder layer whose attention is returned; -1: none
  int attention_head = -1;   // head of that layer; -1: average
  Stop stop = Stop::early;
  // Probabilities are those among all pieces, not among those that are not blocked; n-grams count the first input.
  bool as_transformers = false;
  bool forced_end = false;  // the last piece that `longest` allows is the end, which is certain
  Sampling sampling;
  Switches on;
};

struct Batch {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // forced starts of the targets; empty, or one per source
};

struct Hypothesis {
  std::vector<int32_t> tokens;  // without the end
  float score = 0;
  std::vector<float> attention;  // [pieces, plus the end if reached][source length]
  int loop = 0;                  // pieces that were cut off its end, as they repeated others (search/loops.h)
};

// Of a given target, at each of its pieces and at its end: the log probability of it, and the most probable pieces, as
// many as were asked for, best first, with theirs. Where there are fewer candidates, the piece is -1.
struct Scored {
  std::vector<float> scores;
  std::vector<int32_t> pieces;
  std::vector<float> piece_scores;
};

using Results = std::vector<std::vector<Hypothesis>>;  // per source, best first; samples in the order of their numbers

}  // namespace nmt
