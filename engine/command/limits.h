// Limits of nmt-frontier translate. They live in nmt_frontier.limits, from where export.translate_command passes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt {

constexpr size_t kMaximumInput = NMT_MAXIMUM_INPUT;            // pieces of a line
constexpr size_t kMaximumCharacters = NMT_MAXIMUM_CHARACTERS;  // of a chunk that is tokenized at once
constexpr int32_t kMaximumOutput = NMT_MAXIMUM_OUTPUT;         // pieces of a translation
constexpr size_t kBatchTokens = NMT_BATCH_TOKENS;              // of a batch, with padding

}  // namespace nmt
