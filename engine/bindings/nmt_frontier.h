/* The C interface of nmt-frontier: a model folder and lines in, translations out (docs/c.md).

   Errors. A function that returns int returns 0, or 1 and one line in `error`, of at most `error_size` bytes with its
   zero. No call ends the process, and after an error all handles can be used as before.
   Threads. Any number of threads may share a model. A worker is for one call at a time: a second one is an error.
   Memory. Handles are closed by their functions, workers before their models. Results belong to the library: they are
   the calling thread's and valid until its next call, of any worker.
   Versions. Within one NMT_INTERFACE_MAJOR a program needs no change and no recompilation for a later library. */
#ifndef NMT_FRONTIER_H
#define NMT_FRONTIER_H

#include <stddef.h>
#include <stdint.h>

#define NMT_INTERFACE_MAJOR 1
#define NMT_INTERFACE_MINOR 0

#if defined(_WIN32) && defined(NMT_BUILD)
#define NMT_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define NMT_EXPORT
#else
#define NMT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nmt_model nmt_model;   /* weights, vocabulary and map of a model folder */
typedef struct nmt_worker nmt_worker; /* what decodes: the memory and threads of one call */

/* How lines are decoded. Begin with `nmt_options options = NMT_DEFAULTS;`, which is greedy search. */
typedef struct nmt_options {
  int32_t size;            /* sizeof(nmt_options): fields that a program does not know have their defaults */
  int32_t beam_size;       /* 1: greedy */
  int32_t n_best;          /* translations of each line, at most beam_size */
  float length_penalty;    /* a score is the log probability / length^length_penalty; the length counts the end */
  int32_t wu;              /* or / ((5 + length) / 6)^length_penalty (Wu et al. 2016) */
  int32_t shortest;        /* pieces of a translation, without its end */
  int32_t longest;         /* 0: the model folder's limit */
  int32_t blocked_ngram;   /* no n-gram of this size occurs twice; 0: off */
  int32_t vocabulary_map;  /* whether the map of a model that has one chooses the pieces to score */
  int32_t scores;          /* whether greedy search gives scores, too; others always do */
  int32_t attention_layer; /* of the decoder, whose attention nmt_translate gives; -1: none */
  int32_t attention_head;  /* -1: the mean of all */
  int32_t stop;            /* a line is done with beam_size finished hypotheses (1), or when no live one would beat the
                               worst of them at its own length (2) or the longest (3); 0: as 1, or without a length
                               penalty when n_best are known */
  int32_t as_transformers; /* probabilities count blocked pieces, n-grams the decoder's first input */
  int32_t forced_end;      /* the last piece that `longest` allows is the end */
  int32_t samples;         /* draw so many translations of each line instead of searching; 0: search */
  float temperature;       /* of samples, as all that follow to seed */
  int32_t top_k;           /* draw from so many of the most probable pieces; 0: from all */
  float top_p;             /* from the fewest that have this probability together */
  float epsilon;           /* from those of at least this probability */
  int32_t seed;
  uint32_t without; /* bits of parts of decoding to turn off, for measurements */
} nmt_options;

#define NMT_DEFAULTS \
  {(int32_t)sizeof(nmt_options), 1, 1, 1.0f, 0, 0, 0, 0, 1, 0, -1, -1, 0, 0, 0, 0, 1.0f, 0, 1.0f, 0.0f, 0, 0}

/* Translations of lines. Each line has one hypothesis at least, best first, or samples in the order of their numbers. */
typedef struct nmt_lines {
  int64_t hypotheses;       /* of all lines */
  const int32_t* counts;    /* hypotheses of each line */
  const int32_t* cut;       /* of each line: whether it had more pieces than the model takes, and was cut there */
  const int32_t* replaced;  /* of each line: bytes that were no UTF-8, and replaced by U+FFFD */
  const char* const* texts; /* of each hypothesis: UTF-8, ended by a zero */
  const size_t* sizes;      /* of each text in bytes, without that zero */
  const float* scores;      /* of each hypothesis; 0 where none was computed */
  const int32_t* limited;   /* of each hypothesis: whether it was cut off at `longest` */
  const int32_t* looped;    /* of each hypothesis: whether it repeated itself, and was ended */
} nmt_lines;

/* Sentences as numbers of pieces: their places in the lists of vocabulary.json, with the model's prefix and suffix. */
typedef struct nmt_batch {
  int32_t sentences;
  const int32_t* source_lengths;
  const int32_t* sources;        /* pieces of all sentences, concatenated */
  const int32_t* prefix_lengths; /* how translations must start, or the targets to score; may be null */
  const int32_t* prefixes;
} nmt_batch;

/* Translations of a batch; or from nmt_score, whose hypotheses are the pieces and ends of all targets. */
typedef struct nmt_results {
  int64_t hypotheses, total_pieces, total_attention;
  const int32_t* counts;            /* hypotheses of each sentence */
  const int32_t* lengths;           /* pieces of each hypothesis, with its prefix, without its end */
  const int32_t* pieces;            /* of all hypotheses, concatenated; from nmt_score: the best ones at each place */
  const float* scores;              /* of each hypothesis; from nmt_score: its log probability */
  const int32_t* attention_lengths; /* weights of each hypothesis */
  const float* attention;           /* [pieces, plus the end if reached][source pieces] of each hypothesis */
  const int32_t* loops;             /* pieces that were cut off each hypothesis, as they repeated others */
  const float* piece_scores;        /* from nmt_score: log probabilities of `pieces` */
} nmt_results;

/* The library's interface, 1000 * major + minor: a program may call it if the major number is its own, and the minor
   number no smaller. */
NMT_EXPORT int32_t nmt_interface(void);
/* The instruction set in use; null if the environment variable NMT_ISA names none of this CPU's. */
NMT_EXPORT const char* nmt_isa(void);
/* Those that this CPU has, with spaces between them. */
NMT_EXPORT const char* nmt_available_sets(void);
/* Whether this library was built with SentencePiece, and has nmt_translate_text. */
NMT_EXPORT int32_t nmt_has_text(void);

/* Opens a model folder of the native engine. Its weights are mapped from their file, which other processes share. */
NMT_EXPORT int nmt_open_folder(const char* folder, nmt_model** model, char* error, size_t error_size);
NMT_EXPORT void nmt_close(nmt_model* model);
/* The most pieces of a line, which is cut there, and of a translation, as `longest` of 0 says. */
NMT_EXPORT int32_t nmt_longest_line(const nmt_model* model);
NMT_EXPORT int32_t nmt_longest_translation(const nmt_model* model);
/* models: one, or several of one vocabulary, whose probabilities are averaged at every step. threads: how many share a
   batch; a worker for each core translates more lines a second. */
NMT_EXPORT int nmt_open_worker(nmt_model* const* models, int32_t count, int32_t threads, nmt_worker** worker,
                               char* error, size_t error_size);
NMT_EXPORT void nmt_close_worker(nmt_worker* worker);

/* Translates lines of text in UTF-8. sizes: of the lines in bytes; null: each is ended by a zero. Any number of lines:
   they are sorted and cut into batches. Text is normalised as `nmt-frontier translate` does it, and comes out the same;
   a line without letters is copied, an empty one stays empty, >>de<< at its start names a language of the model. */
NMT_EXPORT int nmt_translate_text(nmt_worker* worker, const char* const* lines, const size_t* sizes, int32_t count,
                                  const nmt_options* options, const nmt_lines** results, char* error,
                                  size_t error_size);
/* The same for lines that are pieces of the vocabulary with spaces between them, such as SentencePiece gives; so are
   the results. The model's prefix and suffix are added; a piece that the vocabulary lacks is its unknown one. */
NMT_EXPORT int nmt_translate_pieces(nmt_worker* worker, const char* const* lines, const size_t* sizes, int32_t count,
                                    const nmt_options* options, const nmt_lines** results, char* error,
                                    size_t error_size);
/* The same for one batch of numbers, as it is. */
NMT_EXPORT int nmt_translate(nmt_worker* worker, const nmt_batch* batch, const nmt_options* options,
                             const nmt_results** results, char* error, size_t error_size);
/* The log probabilities of the pieces and the end of each target (prefixes). Only vocabulary_map of the options counts.
   most: how many of the most probable pieces to find at each of these places, padded with -1 where there are fewer. */
NMT_EXPORT int nmt_score(nmt_worker* worker, const nmt_batch* batch, const nmt_options* options, int32_t most,
                         const nmt_results** results, char* error, size_t error_size);
/* From any thread: ends the running call, or the next one, with an error within a step. */
NMT_EXPORT void nmt_stop(nmt_worker* worker);

#ifdef __cplusplus
}
#endif
#endif
