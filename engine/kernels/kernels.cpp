// Compiled once for each instruction set, with NMT_SET as its name: the only file with instructions that a CPU may lack.
#include "kernels/kernels.h"

#include "kernels/attention.h"
#include "kernels/gates.h"
#include "kernels/products.h"
#include "kernels/rows.h"
#include "kernels/scores.h"

#define NMT_TEXT_(name) #name
#define NMT_TEXT(name) NMT_TEXT_(name)

namespace nmt {
namespace NMT_SET {
extern const Kernels table;
const Kernels table = {NMT_TEXT(NMT_SET), product, normalise, quantise, interleave, embed, remember, attend, attend_additive,
                       average, swish, tangents, add_gated, simple_recurrence, lstm, gru,
                       pick, best, log_sum, top, repeats};
}  // namespace NMT_SET
}  // namespace nmt
