// The integer products of WebAssembly's SIMD. Its one product with sums takes 16 bits, so that bytes are widened as they
// are read; relaxed SIMD has one of bytes, for browsers that compute it as they should (browser/relaxed.cpp).
#pragma once

#include <wasm_simd128.h>

#include "kernels/vector.h"

namespace nmt {
namespace {

struct ShortDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 1;
  struct Weights {
    v128_t groups;
  };
  static NMT_INLINE Weights load(const char* panel) { return {wasm_v128_load(panel)}; }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    sum += (IntPart)wasm_i32x4_dot_i16x8(wasm_v128_load32_splat(row), weights.groups);
  }
};

#if defined(__wasm_relaxed_simd__)
// As on AVX2, by the same bounds of the weights, where the instruction takes its second operand as unsigned. Others take
// it as signed, and need NMT_SIGNED.
struct ByteDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 2;
#if defined(NMT_SIGNED)
  static constexpr bool kSubtracts = true;
#else
  static constexpr bool kSubtracts = false;
#endif
  struct Weights {
    v128_t first, second;
  };
  static NMT_INLINE Weights load(const char* panel) { return {wasm_v128_load(panel), wasm_v128_load(panel + 64)}; }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) { sum += total(words(row, weights)); }
  static NMT_INLINE void step_of_one(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
  // Sums of four products, and those of two of these sums.
  static NMT_INLINE v128_t words(const char* row, const Weights& weights) {
    return wasm_i16x8_add(wasm_i16x8_relaxed_dot_i8x16_i7x16(weights.first, repeated(row)),
                          wasm_i16x8_relaxed_dot_i8x16_i7x16(weights.second, repeated(row + 4)));
  }
  static NMT_INLINE IntPart total(v128_t words) { return (IntPart)wasm_i32x4_dot_i16x8(words, wasm_i16x8_splat(1)); }

 private:
  static NMT_INLINE v128_t repeated(const char* row) {
    const v128_t bytes = wasm_v128_load32_splat(row);
    return kSubtracts ? wasm_v128_xor(bytes, wasm_i8x16_splat((int8_t)0x80)) : bytes;
  }
};

struct NibbleDot {
  using Sum = IntPart;
  using Part = v128_t;
  using Vector = Ints;
  static constexpr bool kSubtracts = ByteDot::kSubtracts;
  using Weights = ByteDot::Weights;
  static NMT_INLINE Weights load(const char* panel) {
    const v128_t both = wasm_v128_load(panel);
    return {with_sign(both), with_sign(wasm_u16x8_shr(both, 4))};
  }
  static NMT_INLINE void step(Part& part, const char* row, const Weights& weights) {
    part = wasm_i16x8_add(part, ByteDot::words(row, weights));
  }
  static NMT_INLINE void add(Sum& sum, Part part, IntPart multiple) { sum += ByteDot::total(part) * multiple; }

 private:
  static NMT_INLINE v128_t with_sign(v128_t nibbles) {
    const v128_t values = wasm_i8x16_const(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return wasm_i8x16_relaxed_swizzle(values, wasm_v128_and(nibbles, wasm_i8x16_splat(15)));
  }
};

#else

// The sums of four channels in two registers, each of two channels: of the first two elements of groups and of the
// last two.
struct Pairs {
  v128_t low, high;
  Pairs() = default;
  NMT_INLINE Pairs(IntPart v) {
    const IntPart none{};
    low = (v128_t)__builtin_shufflevector(v, none, 0, 4, 1, 4);
    high = (v128_t)__builtin_shufflevector(v, none, 2, 4, 3, 4);
  }
  NMT_INLINE operator IntPart() const {
    const IntPart a = (IntPart)low, b = (IntPart)high;
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
  }
};

struct ByteDot {
  using Sum = Pairs;
  using Vector = Ints;
  static constexpr int kGroups = 2;
  static constexpr bool kSubtracts = false;
  struct Weights {
    v128_t low[2], high[2];  // of each group: two channels
  };
  static NMT_INLINE Weights load(const char* panel) {
    return {{wasm_i16x8_load8x8(panel), wasm_i16x8_load8x8(panel + 64)},
            {wasm_i16x8_load8x8(panel + 8), wasm_i16x8_load8x8(panel + 72)}};
  }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    const v128_t inputs = wasm_u16x8_load8x8(row);
    add(sum, wasm_i64x2_shuffle(inputs, inputs, 0, 0), weights.low[0], weights.high[0]);
    add(sum, wasm_i64x2_shuffle(inputs, inputs, 1, 1), weights.low[1], weights.high[1]);
  }
  static NMT_INLINE void step_of_one(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }

 private:
  static NMT_INLINE void add(Sum& sum, v128_t inputs, v128_t low, v128_t high) {
    sum.low = wasm_i32x4_add(sum.low, wasm_i32x4_dot_i16x8(low, inputs));
    sum.high = wasm_i32x4_add(sum.high, wasm_i32x4_dot_i16x8(high, inputs));
  }
};

struct NibbleDot {
  using Sum = IntPart;
  using Part = Pairs;
  using Vector = Ints;
  static constexpr bool kSubtracts = false;
  using Weights = ByteDot::Weights;
  static NMT_INLINE Weights load(const char* panel) {
    const v128_t low = wasm_i16x8_load8x8(panel), high = wasm_i16x8_load8x8(panel + 8);
    return {{lower(low), wasm_i16x8_shr(low, 4)}, {lower(high), wasm_i16x8_shr(high, 4)}};
  }
  static NMT_INLINE void step(Part& part, const char* row, const Weights& weights) {
    ByteDot::step(part, row, weights);
  }
  static NMT_INLINE void add(Sum& sum, IntPart part, IntPart multiple) { sum += part * multiple; }

 private:
  static NMT_INLINE v128_t lower(v128_t bytes) { return wasm_i16x8_shr(wasm_i16x8_shl(bytes, 12), 12); }
};

#endif

}  // namespace
}  // namespace nmt
