// The activations of feed-forward layers, with or without a linear factor.
//
// Template parameter Functions: as in kernels/gates.h.
#pragma once

#include "kernels/gates.h"
#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

// The share of the standard normal distribution below x. Beside 0 it is e^(-x^2 / 2) times a polynomial of
// 1 / (1 + 0.305 |x|), fitted to a relative error of 1e-7, so that small shares are exact, too: x * normal(x) has errors
// below 4e-7, or 5e-6 of its value.
NMT_INLINE Floats normal(Floats x) {
  const Floats size = magnitude(x), place = quotient(all(1.f), fma(size, all(0.305f), all(1.f)));
  Floats tail = all(0.0366991945f);
  for (float factor :
       {-0.15298833f, 0.185716912f, -0.0379768386f, 0.121021681f, 0.103420869f, 0.122466817f, 0.121639736f})
    tail = fma(tail, place, all(factor));
  tail = tail * place * exponential(size * size * all(-0.5f));
  Ints negative;
  NMT_EACH_PART(p) negative.part[p] = (IntPart)x.part[p] >> 31;
  return choose(negative, tail, all(1.f) - tail);
}

struct Relu {
  static NMT_INLINE Floats of(Floats x) { return max(x, all(0.f)); }
};
template <class Functions>
struct Swish {
  static NMT_INLINE Floats of(Floats x) { return x * Functions::sigmoid(x); }
};
struct Gelu {
  static NMT_INLINE Floats of(Floats x) { return x * normal(x); }
};
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as a sigmoid of twice the argument.
template <class Functions>
struct GeluTanh {
  static NMT_INLINE Floats of(Floats x) {
    const Floats inner = x * fma(x * x, all(0.0713548163f), all(1.59576912f));
    return x * Functions::sigmoid(inner);
  }
};

template <class Function>
void activated(bool gated, float* rows, int count, int units, int stride, int to_stride) {
  float* to = rows;
  for (int r = 0; r < count; ++r, rows += stride, to += to_stride) {
    if (gated)
      for (int i = 0; i < units; i += kLanes) store(to + i, Function::of(load(rows + i)) * load(rows + units + i));
    else
      for (int i = 0; i < units; i += kLanes) store(to + i, Function::of(load(rows + i)));
  }
}

template <class Functions>
void activate(Activation activation, bool gated, float* rows, int count, int units, int stride, int to_stride) {
  switch (activation) {
    case Activation::relu: return activated<Relu>(gated, rows, count, units, stride, to_stride);
    case Activation::swish: return activated<Swish<Functions>>(gated, rows, count, units, stride, to_stride);
    case Activation::gelu: return activated<Gelu>(gated, rows, count, units, stride, to_stride);
    case Activation::gelu_tanh: return activated<GeluTanh<Functions>>(gated, rows, count, units, stride, to_stride);
    case Activation::count: return;
  }
}

}  // namespace
}  // namespace nmt
