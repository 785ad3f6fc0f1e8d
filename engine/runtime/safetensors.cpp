#include "runtime/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/error.h"
#include "runtime/json.h"

namespace nmt {
namespace {

constexpr size_t kMostHeader = 100'000'000;  // same limit as in the format's library

size_t element_bytes(const std::string& type) {
  if (type == "F32" || type == "I32") return 4;
  if (type == "I16") return 2;
  return type == "I8" ? 1 : 0;
}

}  // namespace

SafeTensors::SafeTensors(const std::string& path) : path_(path) {
  try {
    file_.emplace(path);
    parse();
  } catch (const Error& error) {
    fail(error.what());
  }
}

void SafeTensors::parse() {
  const char* const bytes = file_->data();
  const size_t size = file_->size();
  if (size < 8) throw Error("cut off: it has less than 8 bytes");
  uint64_t header;
  std::memcpy(&header, bytes, 8);
  if (header > kMostHeader || header > size - 8)
    throw Error("not a safetensors file, cut off or damaged: its header has " + std::to_string(header) + " bytes");
  const char* const data = bytes + 8 + header;
  const size_t data_bytes = size - 8 - header;
  Json json({bytes + 8, (size_t)header}, "its header");
  json.object([&](const std::string& name) {
    if (name == "__metadata__") {
      json.object([&](const std::string& key) { metadata_[key] = json.string(); });
      return;
    }
    Tensor tensor;
    std::vector<size_t> offsets;
    json.object([&](const std::string& key) {
      if (key == "dtype")
        tensor.type = json.string();
      else if (key == "shape")
        tensor.shape = json.numbers();
      else if (key == "data_offsets")
        offsets = json.numbers();
      else
        throw Error("its header has an unknown key '" + key + "'");
    });
    size_t bytes = element_bytes(tensor.type);
    if (!bytes) throw Error("'" + name + "' has an unknown type '" + tensor.type + "'");
    for (size_t length : tensor.shape)
      if (__builtin_mul_overflow(bytes, length, &bytes)) throw Error("'" + name + "' has a shape that is too large");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes || offsets[1] - offsets[0] != bytes)
      throw Error("cut off or damaged: '" + name + "' does not lie in the file as its shape requires");
    tensor.data = data + offsets[0];
    tensor.bytes = bytes;
    if (!tensors_.emplace(name, std::move(tensor)).second) throw Error("'" + name + "' is a duplicate");
  });
  if (!json.finished()) throw Error("its header has something behind its end");
}

const Tensor& SafeTensors::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("'" + name + "' is missing");
  return found->second;
}

const char* SafeTensors::data(const std::string& name, const char* type, const std::vector<size_t>& shape,
                              size_t alignment) const {
  const Tensor& found = tensor(name);
  if (found.type != type || found.shape != shape) {
    std::string wanted = type, is = found.type;
    for (size_t length : shape) wanted += " " + std::to_string(length);
    for (size_t length : found.shape) is += " " + std::to_string(length);
    fail("'" + name + "' is " + is + " where the model needs " + wanted);
  }
  if ((uintptr_t)found.data % alignment)
    fail("'" + name + "' is not aligned to " + std::to_string(alignment) + " bytes; export the model again");
  return found.data;
}

const float* SafeTensors::floats(const std::string& name, const std::vector<size_t>& shape, size_t alignment) const {
  const auto* const values = (const float*)data(name, "F32", shape, alignment);
  if (!std::all_of(values, values + tensor(name).bytes / sizeof(float),
                   [](float value) { return std::isfinite(value); }))
    fail("'" + name + "' holds what is no finite number; export the model again");
  return values;
}

const std::string& SafeTensors::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) fail("'" + key + "' is missing in its metadata");
  return found->second;
}

int64_t SafeTensors::integer(const std::string& key, int64_t least, int64_t most) const {
  const std::string& text = metadata(key);
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || value < least || value > most)
    fail("'" + key + "' is '" + text + "', not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double SafeTensors::real(const std::string& key) const {
  const std::string& text = metadata(key);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value)) fail("'" + key + "' is '" + text + "', not a number");
  return value;
}

void SafeTensors::fail(const std::string& what) const { throw Error(path_ + ": " + what); }

}  // namespace nmt
