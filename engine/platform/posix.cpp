// Files of Linux and macOS.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platform/platform.h"
#include "runtime/error.h"

namespace nmt {

FileBytes::FileBytes(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Error(std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
    close(file);
    throw Error("not a regular file");
  }
  size_ = (size_t)status.st_size;
  void* const map = size_ ? mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0) : nullptr;
  const int failed = errno;
  close(file);
  if (map == MAP_FAILED) throw Error(std::string("cannot be mapped: ") + std::strerror(failed));
  data_ = static_cast<const char*>(map);
}

FileBytes::~FileBytes() {
  if (data_) munmap(const_cast<char*>(data_), size_);
}

}  // namespace nmt
