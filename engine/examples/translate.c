/* translate MODEL < source > target: lines in, translations out, through the C interface of nmt-frontier. Lines are text
   or, where the library has no SentencePiece, pieces with spaces between them. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <nmt_frontier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** arguments) {
  const nmt_options options = NMT_DEFAULTS; /* greedy search */
  const nmt_lines* found;
  nmt_model* model = NULL;
  nmt_worker* worker = NULL;
  char *line = NULL, error[500] = "usage: translate MODEL < source > target";
  size_t room = 0;
  int failed = count != 2 || nmt_open_folder(arguments[1], &model, error, sizeof error) ||
               nmt_open_worker(&model, 1, 1, &worker, error, sizeof error);
  while (!failed && getline(&line, &room, stdin) >= 0) {
    const char* const lines[] = {line};
    line[strcspn(line, "\n")] = 0;
    failed = (nmt_has_text() ? nmt_translate_text : nmt_translate_pieces)(worker, lines, NULL, 1, &options, &found,
                                                                          error, sizeof error);
    if (!failed) puts(found->texts[0]);
  }
  if (failed) fprintf(stderr, "%s\n", error);
  free(line);
  nmt_close_worker(worker);
  nmt_close(model);
  return failed;
}
