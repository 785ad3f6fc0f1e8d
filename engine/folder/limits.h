// Limits of nmt-frontier translate, which nmt_frontier.limits has, too; a test compares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt {

constexpr size_t kMaximumInput = 1000;        // pieces of a line
constexpr size_t kMaximumCharacters = 16000;  // of a chunk that is tokenized at once
constexpr int32_t kMaximumOutput = 150;       // pieces of a translation
constexpr size_t kBatchTokens = 512;          // of a batch, with padding

}  // namespace nmt
