// The switches of decoding: each part can be turned off, to measure what it gains. All are on by default. The table of
// src/formats/switches.py has the same names and says what each does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

// In the order of the bits of a mask; a set bit turns a switch off.
#define NMT_SWITCHES(SWITCH) \
  SWITCH(map_per_sentence)   \
  SWITCH(remove_finished)    \
  SWITCH(shared_cache)       \
  SWITCH(parallel_scan)      \
  SWITCH(packed)             \
  SWITCH(piece_products)     \
  SWITCH(source_products)    \
  SWITCH(equal_states)       \
  SWITCH(polynomials)

namespace nmt {

struct Switches {
#define NMT_MEMBER(NAME) bool NAME = true;
  NMT_SWITCHES(NMT_MEMBER)
#undef NMT_MEMBER

  Switches() = default;
  explicit Switches(uint32_t without) {
#define NMT_TAKE(NAME) NAME = !(without & 1), without >>= 1;
    NMT_SWITCHES(NMT_TAKE)
#undef NMT_TAKE
  }
};

#define NMT_NAME(NAME) #NAME,
constexpr const char* kSwitchNames[] = {NMT_SWITCHES(NMT_NAME)};
#undef NMT_NAME
constexpr int kSwitches = (int)std::size(kSwitchNames);
static_assert(kSwitches < 32, "a mask has 32 bits");

}  // namespace nmt
