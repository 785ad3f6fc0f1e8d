#include <cstdio>

#include "platform/platform.h"
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace nmt {

// Kernels before 5.16 and some containers refuse; the answer stays the same.
bool permits_tiles() {
#if defined(__x86_64__)
  static const bool permitted = [] {
    constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    if (syscall(SYS_arch_prctl, kRequest, kTileData) == 0) return true;
    std::fputs("NMT_ISA: this CPU has amx, but the operating system does not permit it\n", stderr);
    return false;
  }();
  return permitted;
#else
  return false;
#endif
}

// The bits are those of asm/hwcap.h, whose names older headers lack.
bool has_dot_products() {
#if defined(__aarch64__)
  return getauxval(AT_HWCAP) >> 20 & 1;  // HWCAP_ASIMDDP
#else
  return false;
#endif
}

bool has_mixed_products() {
#if defined(__aarch64__)
  return getauxval(AT_HWCAP2) >> 13 & 1;  // HWCAP2_I8MM
#else
  return false;
#endif
}

}  // namespace nmt
