// Files of a browser, which are in memory already: nothing can be mapped, so a file's bytes are copied.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "platform/platform.h"
#include "runtime/error.h"

namespace nmt {
namespace {

constexpr std::align_val_t kAligned{64};

}  // namespace

FileBytes::FileBytes(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) throw Error(std::strerror(errno));
  std::fseek(file, 0, SEEK_END);
  size_ = (size_t)std::ftell(file);
  std::rewind(file);
  char* const copy = size_ ? static_cast<char*>(::operator new(size_, kAligned, std::nothrow)) : nullptr;
  const size_t read = copy ? std::fread(copy, 1, size_, file) : 0;
  std::fclose(file);
  data_ = copy;
  if (size_ && !copy) throw std::bad_alloc();
  if (read < size_) throw Error("cannot be read");
}

FileBytes::~FileBytes() { ::operator delete(const_cast<char*>(data_), kAligned); }

bool permits_tiles() { return false; }
bool has_dot_products() { return false; }
bool has_mixed_products() { return false; }

}  // namespace nmt
