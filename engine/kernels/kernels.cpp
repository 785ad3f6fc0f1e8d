// Compiled once per instruction set, with NMT_SET as its name: the only code with instructions that a CPU may lack.
#include "kernels/kernels.h"

#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/gates.h"
#include "kernels/products.h"
#include "kernels/reading.h"
#include "kernels/rows.h"
#include "kernels/scores.h"

#define NMT_TEXT_(name) #name
#define NMT_TEXT(name) NMT_TEXT_(name)

namespace nmt {
namespace {

// clang-format off
template <class Functions>
constexpr Kernels made(const Kernels* by_library) {
  return {NMT_TEXT(NMT_SET), by_library, kBlockRows, product, release, normalise, quantise, interleave, embed, write_cache, write_positions,
          attend, attend_additive<Functions>, average, activate<Functions>, tangents<Functions>, add_gated<Functions>,
          simple_recurrence<Functions>, lstm<Functions>, gru<Functions>, pick, best, log_sum, mean_log, top, repeats,
          read};
}
// clang-format on
constexpr Kernels by_library = made<Library>(nullptr);

}  // namespace

namespace NMT_SET {
extern const Kernels table;
const Kernels table = made<Polynomials>(&by_library);
}  // namespace NMT_SET
}  // namespace nmt
