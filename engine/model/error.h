// What the library throws: one line that says which file or argument is wrong.
#pragma once

#include <stdexcept>

namespace nmt {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nmt
