// The element-wise parts of averaging and recurrent layers.
//
// Template parameter Functions: sigmoid and tanh by polynomials, or by the C library.
#pragma once

#include <math.h>

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

NMT_INLINE Floats quotient(Floats a, Floats b) {
  NMT_EACH_PART(p) a.part[p] = a.part[p] / b.part[p];
  return a;
}

// Built on the exponential of kernels/vector.h: errors below 1e-6 of the range.
struct Polynomials {
  static NMT_INLINE Floats sigmoid(Floats x) {
    const Floats power = exponential(min(all(0.f) - x, all(87.f)));
    return quotient(all(1.f), all(1.f) + power);
  }
  // 1 - 2 / (e^2x + 1)
  static NMT_INLINE Floats tangent(Floats x) {
    const Floats power = exponential(min(x + x, all(87.f)));
    return all(1.f) - quotient(all(2.f), all(1.f) + power);
  }
};

// Ablation: sigmoid and tanh of the C library, lane by lane. C's, since C++'s are inline and linkers keep one copy of
// them.
struct Library {
  static NMT_INLINE Floats sigmoid(Floats x) {
    return each(x, [](float value) { return 1.f / (1.f + expf(-value)); });
  }
  static NMT_INLINE Floats tangent(Floats x) {
    return each(x, [](float value) { return tanhf(value); });
  }

 private:
  template <class F>
  static NMT_INLINE Floats each(Floats x, const F& f) {
    Lanes lanes(x);
    for (float& value : lanes.at) value = f(value);
    return load(lanes.at);
  }
};

void average(const float* row, float* sum, float share, int units, bool add, float* to) {
  for (int i = 0; i < units; i += kLanes) {
    const Floats total = load(sum + i) + load(row + i);
    store(sum + i, total);
    store(to + i, add ? fma(total, all(share), load(to + i)) : total * all(share));
  }
}

template <class Functions>
void tangents(float* rows, int count, int units, int stride) {
  for (int r = 0; r < count; ++r, rows += stride)
    for (int i = 0; i < units; i += kLanes) store(rows + i, Functions::tangent(load(rows + i)));
}

template <class Functions>
void add_gated(const float* first, const float* first_gate, const float* second, const float* second_gate, int units,
               float* row) {
  for (int i = 0; i < units; i += kLanes) {
    const Floats one = load(first + i) * Functions::sigmoid(load(first_gate + i));
    store(row + i, load(row + i) + fma(load(second + i), Functions::sigmoid(load(second_gate + i)), one));
  }
}

template <class Functions>
void simple_recurrence(const float* gates, float* cell, int units, float* row) {
  for (int i = 0; i < units; i += kLanes) {
    const Floats kept = Functions::sigmoid(load(gates + i)), fresh = load(gates + units + i);
    const Floats next = fma(kept, load(cell + i) - fresh, fresh);
    store(cell + i, next);
    store(row + i, load(row + i) + max(next, all(0.f)));
  }
}

template <class Functions>
void lstm(const float* inputs, const float* states, int units, float* cell, float* output) {
  const auto gate = [&](int number, int i)
                        NMT_LAMBDA { return load(inputs + number * units + i) + load(states + number * units + i); };
  for (int i = 0; i < units; i += kLanes) {
    const Floats entering = Functions::sigmoid(gate(0, i)), kept = Functions::sigmoid(gate(1, i));
    const Floats fresh = Functions::tangent(gate(2, i)), shown = Functions::sigmoid(gate(3, i));
    const Floats next = fma(kept, load(cell + i), entering * fresh);
    store(cell + i, next);
    store(output + i, shown * Functions::tangent(next));
  }
}

template <class Functions>
void gru(const float* inputs, const float* states, int units, float* state) {
  for (int i = 0; i < units; i += kLanes) {
    const Floats kept = Functions::sigmoid(load(inputs + i) + load(states + i));
    const Floats reset = Functions::sigmoid(load(inputs + units + i) + load(states + units + i));
    const Floats fresh = Functions::tangent(fma(reset, load(states + 2 * units + i), load(inputs + 2 * units + i)));
    store(state + i, fma(kept, load(state + i) - fresh, fresh));
  }
}

}  // namespace
}  // namespace nmt
