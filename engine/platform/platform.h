// What operating systems do differently. Each has its own file in this folder; CMake takes the one of the target.
#pragma once

#include <cstddef>
#include <string>

namespace nmt {

// A file's bytes, aligned to 64 bytes and the same as long as this lives; processes share them where a file can be
// mapped into memory. Throws Error, whose text goes behind the path.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);  // UTF-8
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const char* data_ = nullptr;  // null if the file is empty
  size_t size_ = 0;
};

// Instructions that only the operating system knows of; false where a CPU cannot have them.
bool permits_tiles();  // AMX: asks for its registers, for all threads of this process
bool has_dot_products();
bool has_mixed_products();  // of signed and unsigned bytes: i8mm

}  // namespace nmt
