// The instruction set is chosen at the library's first use, from what CPU and operating system report.
//
// The compiler's __builtin_cpu_supports is not used: in a library linked by zig it always returns false.
#include "runtime/dispatch.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "platform/platform.h"
#include "runtime/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nmt {

#define NMT_DECLARE(set)                \
  namespace set {                       \
  extern const ProductKernels products; \
  }
NMT_DECLARE(portable)
NMT_DECLARE(avx2)
NMT_DECLARE(avxvnni)
NMT_DECLARE(avx512)
NMT_DECLARE(avx512vnni)
NMT_DECLARE(amx)
NMT_DECLARE(neon)
NMT_DECLARE(dotprod)
NMT_DECLARE(i8mm)
NMT_DECLARE(simd128)
#undef NMT_DECLARE

#define NMT_DECLARE(width)                               \
  namespace width {                                      \
  extern const VectorKernels by_polynomials, by_library; \
  }
NMT_DECLARE(portable)
NMT_DECLARE(avx2)
NMT_DECLARE(avx512)
NMT_DECLARE(neon)
NMT_DECLARE(simd128)
#undef NMT_DECLARE

namespace {

ProductKernels taken{};

struct Set {
  const ProductKernels& products;
  const VectorKernels &by_polynomials, &by_library;
};
#define NMT_KERNELS(set, width) {set::products, width::by_polynomials, width::by_library}

// The sets that this CPU can run, narrowest first.
std::vector<Set> runnable() {
  std::vector<Set> sets;
#if defined(NMT_HAS_PORTABLE)
  sets.push_back(NMT_KERNELS(portable, portable));
#endif
#if defined(NMT_HAS_SIMD128)
  sets.push_back(NMT_KERNELS(simd128, simd128));
  if (taken.product) sets.push_back({taken, simd128::by_polynomials, simd128::by_library});
#endif
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return sets;
  const bool saves = c >> 27 & 1, fma = c >> 12 & 1, half = c >> 29 & 1;
  if (!saves || !fma || !half) return sets;
  unsigned state, high;
  __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  if ((state & 0x6) != 0x6) return sets;  // XCR0: the operating system saves the registers of AVX
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b >> 5 & 1)) return sets;
#if defined(NMT_HAS_AVX2)
  sets.push_back(NMT_KERNELS(avx2, avx2));
#endif
#if defined(NMT_EMULATED)
#if defined(NMT_HAS_AVXVNNI)
  sets.push_back(NMT_KERNELS(avxvnni, avx2));
#endif
#if defined(NMT_HAS_AMX)
  sets.push_back(NMT_KERNELS(amx, avx2));
#endif
#else
#if defined(NMT_HAS_AVXVNNI)
  unsigned more, unused;
  if (__get_cpuid_count(7, 1, &more, &unused, &unused, &unused) && more >> 4 & 1)
    sets.push_back(NMT_KERNELS(avxvnni, avx2));
#endif
  [[maybe_unused]] const unsigned tiles = d;
  const bool wide = (state & 0xE6) == 0xE6, foundation = b >> 16 & 1, bytes = b >> 30 & 1, lengths = b >> 31 & 1,
             quads = b >> 17 & 1;
  if (!wide || !foundation || !bytes || !lengths || !quads) return sets;
#if defined(NMT_HAS_AVX512)
  sets.push_back(NMT_KERNELS(avx512, avx512));
#endif
  const bool sums = c >> 11 & 1;
  if (!sums) return sets;
#if defined(NMT_HAS_AVX512VNNI)
  sets.push_back(NMT_KERNELS(avx512vnni, avx512));
#endif
#if defined(NMT_HAS_AMX)
  const bool saves_tiles = (state >> 17 & 3) == 3, has_tiles = (tiles >> 24 & 3) == 3;  // AMX-TILE and AMX-INT8
  if (saves_tiles && has_tiles && permits_tiles()) sets.push_back(NMT_KERNELS(amx, avx512));
#endif
#endif
#endif
#if defined(NMT_HAS_NEON)
  sets.push_back(NMT_KERNELS(neon, neon));
#endif
#if defined(NMT_HAS_DOTPROD)
  if (has_dot_products()) sets.push_back(NMT_KERNELS(dotprod, neon));
#endif
#if defined(NMT_HAS_I8MM)
  if (has_mixed_products()) sets.push_back(NMT_KERNELS(i8mm, neon));
#endif
  return sets;
}

Set chosen() {
  const auto sets = runnable();
  const char* const wanted = std::getenv("NMT_ISA");
  if (!wanted || !*wanted) return sets.back();
  for (const Set& set : sets)
    if (!std::strcmp(set.products.name, wanted)) return set;
  throw Error(std::string("NMT_ISA=") + wanted + ": this CPU has " + available_sets());
}

}  // namespace

const Kernels& kernels(bool polynomials) {
  static const std::array<Kernels, 2> tables = [] {
    const Set set = chosen();
    return std::array<Kernels, 2>{{{set.products, set.by_library}, {set.products, set.by_polynomials}}};
  }();
  return tables[polynomials];
}

void take_products(const ProductKernels& products) { taken = products; }

const char* available_sets() {
  static const std::string names = [] {
    std::string text;
    for (const Set& set : runnable()) text += (text.empty() ? "" : " ") + std::string(set.products.name);
    return text;
  }();
  return names.c_str();
}

}  // namespace nmt
