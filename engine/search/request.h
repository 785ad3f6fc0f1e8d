// What a caller asks of a batch, and what it gets.
#pragma once

#include <cstdint>
#include <vector>

namespace nmt {

enum class Candidates : int32_t {
  all,           // every target piece
  per_sentence,  // those that the vocabulary map allows for the sentence
  per_batch,     // those that it allows for any sentence of the batch, as CTranslate2 does
};

struct Options {
  int beam_size = 1;  // 1: greedy
  int n_best = 1;     // at most beam_size
  // A finished hypothesis is scored by its log probability / length^penalty, or, with `wu`, / ((5 + length) / 6)^penalty
  // (Wu et al. 2016); the length counts the end piece.
  float length_penalty = 1;
  bool wu = false;
  int shortest = 0, longest = 150;  // pieces, without the end
  int blocked_ngram = 0;            // n: no n-gram is said twice; 0: any may be
  bool plain_scan = false;          // look for them place by place in place of 16 at a time: what that is worth
  Candidates candidates = Candidates::all;
  bool scores = false;              // greedy search needs no softmax without them
  int attention_layer = -1;         // of the decoder, whose attention is returned; -1: none
  int attention_head = -1;          // of that layer; -1: the average
  bool keep_finished = false;       // decode finished sentences until the batch ends: what removing them is worth
  bool copied_cache = false;        // every beam has its own copy of the encoder's keys and values: what sharing is worth
  // To see what their opposites are worth in recurrent models (Identities).
  bool computed_pieces = false;   // products of pieces' embeddings are computed each time
  bool repeated_sources = false;  // products of the source are computed at each step
  bool repeated_states = false;   // products of a state are computed for each hypothesis that has it
  bool library_functions = false;  // sigmoid and tanh are the C library's; in all models that have them
};

struct Batch {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<int32_t>> prefixes;  // of the targets, forced; empty, or one for each source
};

struct Hypothesis {
  std::vector<int32_t> pieces;   // without the end
  float score = 0;
  std::vector<float> attention;  // [pieces][source length], and a row for the end if it was said
};

using Results = std::vector<std::vector<Hypothesis>>;  // of each source, best first

}  // namespace nmt
