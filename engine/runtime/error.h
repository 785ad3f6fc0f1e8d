// Errors of the library: one line that names the file or argument at fault.
#pragma once

#include <stdexcept>

namespace nmt {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nmt
