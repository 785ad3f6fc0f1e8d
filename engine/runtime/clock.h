// Time per component, in ticks of the CPU's clock.
#pragma once

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace nmt {

enum class Component {
  embeddings,
  encoder_products,
  encoder_attention,
  encoder_rows,  // layer normalisation and quantisation
  memory,        // keys and values of the encoder's output
  decoder_products,
  self_attention,
  encoder_decoder_attention,
  decoder_rows,
  candidates,  // the vocabulary map, and gathering the output layer's rows for a batch
  output_layer,
  search,
  count,
};
constexpr int kComponents = (int)Component::count;
constexpr const char* kComponentNames[kComponents] = {
    "embeddings",   "encoder products", "encoder attention", "encoder rows",
    "memory",       "decoder products", "self-attention",    "encoder-decoder attention",
    "decoder rows", "candidates",       "output layer",      "search"};

inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return (uint64_t)std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// Off by default: a step reads the CPU's clock some 40 times, which slows a small model.
struct Clock {
  bool on = false;
  std::array<uint64_t, kComponents> ticks{};
};

// Adds the time until the end of the scope to a component.
class Timed {
 public:
  Timed(Clock& clock, Component component)
      : to_(clock.on ? &clock.ticks[(int)component] : nullptr), start_(to_ ? ticks() : 0) {}
  ~Timed() {
    if (to_) *to_ += ticks() - start_;
  }

 private:
  uint64_t* to_;
  uint64_t start_;
};

}  // namespace nmt
