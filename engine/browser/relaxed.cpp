// Products with instructions that browsers may compute in several ways (relaxed SIMD). They are in files of their own, as
// a browser without them would not load this one, and are taken only if they give the bytes of this file's products.
#include <vector>

#include "bindings/nmt_frontier.h"
#include "runtime/dispatch.h"

namespace nmt {
namespace {

using Product = decltype(ProductKernels::product);

constexpr int kInputs = 64, kOutputs = 32, kRows = 5;  // two steps of int4, and tiles of all heights

// A byte of panels. In 8 bits, weights are as large as they may be: those of one sign that are added in 16 bits sum to 128.
int weight(size_t i) {
  const bool odd = i / 64 % 2;  // of two groups that are added
  switch (i / 4 % 4) {          // by channel
    case 0: return odd ? 0 : 64;
    case 1: return odd ? 0 : -64;
    case 2: return (i % 2 ? -1 : 1) * (odd ? 1 : 127);
    default: return (int)(i * 37 % 65) - 32;
  }
}

std::vector<float> computed(Product product, Type type, bool shifted) {
  alignas(64) char panels[kInputs * kOutputs];
  for (size_t i = 0; i < sizeof panels; ++i) panels[i] = (char)weight(i);
  std::vector<int8_t> steps(kInputs / kStepInputs * kOutputs);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = (int8_t)(i * 91 % 255 - 127);
  std::vector<char> rows(kRows * kInputs);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = (char)(i % 3 ? 255 - i % 2 : i * 53);
  const std::vector<float> ones(kOutputs, 1.f), none(kOutputs, 0.f);
  const std::vector<int32_t> offset(kOutputs, 12345);
  Linear linear;
  linear.type = type, linear.inputs = kInputs, linear.outputs = kOutputs;
  linear.panels = panels, linear.steps = steps.data();
  linear.scale = ones.data(), linear.bias = none.data(), linear.offset = offset.data();
  std::vector<float> found(kRows * kOutputs);
  product(linear, {rows.data(), ones.data(), shifted}, kRows, 0, kOutputs / kPanel,
          {found.data(), kOutputs, Epilogue::store, nullptr});
  return found;
}

}  // namespace

namespace simd128 {
extern const ProductKernels products;
}

}  // namespace nmt

extern "C" NMT_EXPORT int32_t nmt_take_products(nmt::Product product) {
  using namespace nmt;
  for (const Type type : {Type::int8, Type::int4})
    for (const bool shifted : {false, true})
      if (computed(product, type, shifted) != computed(simd128::products.product, type, shifted)) return 0;
  take_products({"relaxed", simd128::products.block_rows, product, simd128::products.release});
  return 1;
}
