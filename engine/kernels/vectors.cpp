// All but products, compiled once for each width of vectors, with NMT_SET as the name of the first set that has it.
#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/gates.h"
#include "kernels/kernels.h"
#include "kernels/reading.h"
#include "kernels/rows.h"
#include "kernels/scores.h"

namespace nmt {
namespace {

// clang-format off
template <class Functions>
constexpr VectorKernels made() {
  return {normalise, quantise, interleave, embed, write_cache, write_positions,
          attend, attend_additive<Functions>, average, activate<Functions>, tangents<Functions>, add_gated<Functions>,
          simple_recurrence<Functions>, lstm<Functions>, gru<Functions>, pick, best, maxima, at_least, weigh, log_sum, mean_log,
          top, repeats, read};
}
// clang-format on

}  // namespace

namespace NMT_SET {
extern const VectorKernels by_polynomials, by_library;
#if defined(__wasm__)  // small: nothing is measured there
const VectorKernels by_polynomials = made<Polynomials>(), by_library = by_polynomials;
#else
const VectorKernels by_polynomials = made<Polynomials>(), by_library = made<Library>();
#endif
}  // namespace NMT_SET
}  // namespace nmt
