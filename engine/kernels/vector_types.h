// The types of vectors; kParts is defined by the header of the instruction set that includes this.
#pragma once

namespace nmt {
namespace {  // one copy per instruction set

constexpr int kLanes = 16;
constexpr int kPartLanes = kLanes / kParts;
constexpr int kPartBytes = 64 / kParts;

typedef float FloatPart __attribute__((vector_size(kPartBytes)));
typedef int32_t IntPart __attribute__((vector_size(kPartBytes)));

// The same in memory, aligned or not.
typedef FloatPart StoredFloats __attribute__((aligned(4), may_alias));
typedef IntPart StoredInts __attribute__((aligned(4), may_alias));

struct Half {  // a float in half precision (IEEE 754's binary16); not every compiler has a type for it
#if defined(__wasm_simd128__)
  float rounded;  // kHalfBytes
#else
  uint16_t bits;
#endif
};
struct Floats {
  FloatPart part[kParts];
};
struct Ints {
  IntPart part[kParts];
};

}  // namespace
}  // namespace nmt

#define NMT_INLINE inline __attribute__((always_inline))
#define NMT_LAMBDA __attribute__((always_inline))
#define NMT_EACH_PART(p) for (int p = 0; p < kParts; ++p)
