#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "model/error.h"

namespace nmt {
namespace {

constexpr size_t kMostHeader = 100'000'000;  // as the format's own library

// What the header needs of JSON: objects, arrays of numbers, strings. Throws Error at anything else.
class Json {
 public:
  Json(const char* start, const char* end) : at_(start), end_(end) {}

  void expect(char c) {
    if (!accept(c)) throw Error(std::string("its header lacks a '") + c + "'");
  }
  bool accept(char c) {
    space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  std::string string() {
    expect('"');
    std::string text;
    while (at_ != end_ && *at_ != '"') {
      if ((unsigned char)*at_ < 0x20) throw Error("its header has a control character in a string");
      if (*at_ != '\\') {
        text += *at_++;
        continue;
      }
      static const char kEscapes[] = "\"\\/bfnrt", kMeanings[] = "\"\\/\b\f\n\r\t";
      const char* const escape = ++at_ == end_ ? nullptr : std::strchr(kEscapes, *at_);
      if (!escape || !*escape) throw Error("its header has an escape that names in it do not need");
      text += kMeanings[escape - kEscapes];
      ++at_;
    }
    expect('"');
    return text;
  }
  size_t number() {
    space();
    size_t value = 0;
    const char* const start = at_;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (value > ((size_t)-1 - 9) / 10) throw Error("its header has a number that is too large");
      value = 10 * value + (size_t)(*at_ - '0');
    }
    if (at_ == start) throw Error("its header lacks a number");
    return value;
  }
  std::vector<size_t> numbers() {
    std::vector<size_t> values;
    expect('[');
    if (accept(']')) return values;
    do values.push_back(number());
    while (accept(','));
    expect(']');
    return values;
  }
  // Calls member(key) for each member of an object.
  template <class F>
  void object(F member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string key = string();
      expect(':');
      member(key);
    } while (accept(','));
    expect('}');
  }
  bool finished() {
    space();
    return at_ == end_;
  }

 private:
  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  const char* at_;
  const char* end_;
};

size_t element_bytes(const std::string& type) {
  if (type == "F32" || type == "I32") return 4;
  if (type == "I16") return 2;
  return type == "I8" ? 1 : 0;
}

}  // namespace

SafeTensors::SafeTensors(const std::string& path) : path_(path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
    close(file);
    fail("not a regular file");
  }
  size_ = (size_t)status.st_size;
  if (size_ >= 8) {
    void* const map = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) map_ = static_cast<const char*>(map);
  }
  close(file);
  if (size_ < 8) fail("cut off: it has less than 8 bytes");
  if (!map_) fail(std::string("cannot be mapped: ") + std::strerror(errno));
  try {
    parse();
  } catch (const Error& error) {
    munmap(const_cast<char*>(map_), size_);
    fail(error.what());
  }
}

SafeTensors::~SafeTensors() { munmap(const_cast<char*>(map_), size_); }

void SafeTensors::parse() {
  uint64_t header;
  std::memcpy(&header, map_, 8);
  if (header > kMostHeader || header > size_ - 8)
    throw Error("not a safetensors file, cut off or damaged: its header has " + std::to_string(header) + " bytes");
  const char* const data = map_ + 8 + header;
  const size_t data_bytes = size_ - 8 - header;
  Json json(map_ + 8, data);
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
      throw Error("cut off or damaged: '" + name + "' does not lie in the file as its shape says");
    tensor.data = data + offsets[0];
    tensor.bytes = bytes;
    if (!tensors_.emplace(name, std::move(tensor)).second) throw Error("'" + name + "' stands there twice");
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
