// Memory that grows and is kept: the arrays of a network are allocated again only for a batch larger than all before.
// What a search keeps of each hypothesis (its pieces, its table of pages) are vectors, which grow with it.
#pragma once

#include <cassert>
#include <cstddef>
#include <new>
#include <utility>

namespace nmt {

// An array aligned to 64 bytes. Growing discards the contents.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { release(); }

  // While it lives, the buffer must not grow: pointers into it are in use. Debug builds check that.
  class Hold {
   public:
    explicit Hold(Buffer& buffer) : buffer_(buffer) { ++buffer.holds_; }
    ~Hold() { --buffer_.holds_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Buffer& buffer_;
  };

  // At least `size` elements. Throws std::bad_alloc.
  T* get(size_t size) {
    if (size > size_) {
      assert(!holds_ && "a buffer grows while pointers into it are in use");
      if (size > (size_t)-1 / sizeof(T) - 64) throw std::bad_alloc();
      release();
      data_ = nullptr, size_ = 0;
      data_ = static_cast<T*>(::operator new((size * sizeof(T) + 63) / 64 * 64, kAligned));
      size_ = size;
    }
    return data_;
  }
  T* data() { return data_; }

 private:
  static constexpr std::align_val_t kAligned{64};
  void release() {
    if (data_) ::operator delete(data_, kAligned);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  int holds_ = 0;
};

}  // namespace nmt
