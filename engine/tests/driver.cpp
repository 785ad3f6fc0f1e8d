// driver CALLS RESULTS: calls of the C interface from a file, for systems whose Python cannot run here
// (tests/engine/test_platforms.py writes them). A call is a number and its arguments, a result its size and its bytes.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bindings/c_api.h"

namespace {

std::FILE *calls, *results;
char error[1000];

void check(int failed) {
  if (!failed) return;
  std::fprintf(stderr, "%s\n", error);
  std::exit(1);
}

template <class T>
struct Array {  // aligned, as weights must be
  T* data;
  explicit Array(size_t size) : memory(size * sizeof(T) + 64) {
    data = (T*)(((uintptr_t)memory.data() + 63) / 64 * 64);
    if (size && std::fread(data, sizeof(T), size, calls) != size) std::exit(2);
  }

 private:
  std::vector<char> memory;
};

int32_t number() { return *Array<int32_t>(1).data; }

void write(const void* data, size_t bytes) {
  const int32_t size = (int32_t)bytes;
  std::fwrite(&size, sizeof size, 1, results);
  std::fwrite(data, 1, bytes, results);
}

void product() {  // of one row, of two, ... of all
  const int32_t type = number(), inputs = number(), outputs = number(), rows = number(), shifted = number();
  const Array<char> panels((size_t)number());
  const Array<int8_t> steps((size_t)number());
  const Array<float> scale((size_t)outputs);
  const Array<int32_t> offset((size_t)outputs);
  const Array<float> bias((size_t)outputs);
  const Array<char> from((size_t)number());
  const Array<float> row_scale((size_t)rows);
  std::vector<float> to((size_t)rows * (size_t)outputs);
  for (int32_t count = 1; count <= rows; ++count) {
    check(nmt_product(type, inputs, outputs, panels.data, steps.data, scale.data, offset.data, bias.data, count,
                      from.data, row_scale.data, shifted, 0, to.data(), 1, error, sizeof error));
    write(to.data(), (size_t)count * (size_t)outputs * sizeof(float));
  }
}

void quantise() {
  const int32_t type = number(), bytes = number(), rows = number(), units = number(), is_signed = number();
  const Array<float> from((size_t)rows * (size_t)units);
  std::vector<char> to((size_t)rows * (size_t)units * (size_t)bytes);
  std::vector<float> scale((size_t)rows);
  check(nmt_quantise(type, rows, units, from.data, to.data(), scale.data(), is_signed, 0, error, sizeof error));
  write(to.data(), to.size());
  write(scale.data(), scale.size() * sizeof(float));
}

void translate() {
  const Array<char> path((size_t)number());  // ended by a zero
  nmt_options options = NMT_DEFAULTS;
  options.beam_size = number();
  options.samples = number();
  options.longest = 40, options.scores = 1, options.vocabulary_map = 0;
  const int32_t sentences = number();
  const Array<int32_t> lengths((size_t)sentences), pieces((size_t)number());
  nmt_model* model = nullptr;
  nmt_worker* worker = nullptr;
  const nmt_results* found = nullptr;
  check(nmt_open(path.data, nullptr, 0, &model, error, sizeof error));
  check(nmt_open_worker(&model, 1, 2, &worker, error, sizeof error));
  const nmt_batch batch{sentences, lengths.data, pieces.data, nullptr, nullptr};
  check(nmt_translate(worker, &batch, &options, &found, error, sizeof error));
  write(found->pieces, (size_t)found->total_pieces * sizeof(int32_t));
  write(found->scores, (size_t)found->hypotheses * sizeof(float));
  nmt_close_worker(worker);
  nmt_close(model);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  calls = std::fopen(arguments[1], "rb");
  results = std::fopen(arguments[2], "wb");
  if (!calls || !results) return 2;
  if (!nmt_isa()) return 3;
  std::puts(nmt_isa());
  for (int32_t call; (call = number());) call == 1 ? product() : call == 2 ? quantise() : translate();
  return std::fclose(results) != 0;
}
