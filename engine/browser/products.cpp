// Products with relaxed SIMD, in a file of their own (relaxed.cpp).
#include "kernels/products.h"

extern "C" __attribute__((visibility("default"))) void product(const nmt::Linear* weights, const nmt::Inputs* inputs,
                                                               int rows, int first, int last,
                                                               const nmt::Outputs* outputs) {
  nmt::product(*weights, *inputs, rows, first, last, *outputs);
}
