// The instruction set in use.
#pragma once

#include "kernels/kernels.h"

namespace nmt {

// The table of the widest set that this CPU has, or of the set that NMT_ISA names: portable; avx2, avxvnni, avx512,
// avx512vnni or amx; neon, dotprod or i8mm. Throws Error for an unknown name and for a set that the CPU lacks.
// polynomials: otherwise sigmoid and tanh are the C library's.
const Kernels& kernels(bool polynomials = true);
// Takes the products of another file as a further set, the widest one. Call it before all others.
void take_products(const ProductKernels& products);
// Names of the sets that this CPU has, narrowest first, separated by spaces.
const char* available_sets();

}  // namespace nmt
