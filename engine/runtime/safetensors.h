// A safetensors file: https://github.com/huggingface/safetensors#format
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "platform/platform.h"

namespace nmt {

// A tensor's location in the file, checked to be inside.
struct Tensor {
  std::string type;  // F32, I32, I16, I8, ...
  std::vector<size_t> shape;
  const char* data = nullptr;
  size_t bytes = 0;
};

// An open file, shared by workers and processes. Every fault is an Error that names the file.
class SafeTensors {
 public:
  explicit SafeTensors(const std::string& path);

  bool has(const std::string& name) const { return tensors_.count(name); }
  // A tensor of this type and shape, with this alignment. Throws Error if it is missing or differs.
  const char* data(const std::string& name, const char* type, const std::vector<size_t>& shape,
                   size_t alignment = 64) const;
  // A tensor of finite floats.
  const float* floats(const std::string& name, const std::vector<size_t>& shape, size_t alignment = 64) const;
  const Tensor& tensor(const std::string& name) const;
  const std::string& metadata(const std::string& key) const;
  bool has_metadata(const std::string& key) const { return metadata_.count(key); }
  // Metadata as an integer within two limits; otherwise throws Error.
  int64_t integer(const std::string& key, int64_t least, int64_t most) const;
  double real(const std::string& key) const;
  bool flag(const std::string& key) const { return integer(key, 0, 1); }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void parse();

  std::string path_;
  std::optional<FileBytes> file_;
  std::unordered_map<std::string, Tensor> tensors_;
  std::unordered_map<std::string, std::string> metadata_;
};

}  // namespace nmt
