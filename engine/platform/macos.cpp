#include <sys/sysctl.h>

#include "platform/platform.h"

namespace nmt {
namespace {

bool has(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value;  // unknown names of older systems: it has not
}

}  // namespace

bool permits_tiles() { return false; }  // Apple has sold no CPU with AMX of Intel
bool has_dot_products() { return has("hw.optional.arm.FEAT_DotProd"); }
bool has_mixed_products() { return has("hw.optional.arm.FEAT_I8MM"); }

}  // namespace nmt
