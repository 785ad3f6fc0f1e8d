// Compiled once per instruction set, with NMT_SET as its name.
#include "kernels/products.h"

#include "kernels/kernels.h"

#define NMT_TEXT_(name) #name
#define NMT_TEXT(name) NMT_TEXT_(name)

namespace nmt {
namespace NMT_SET {
extern const ProductKernels products;
const ProductKernels products = {NMT_TEXT(NMT_SET), kBlockRows, product, release};
}  // namespace NMT_SET
}  // namespace nmt
