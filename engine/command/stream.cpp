#include "command/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/error.h"

namespace nmt {
namespace {

constexpr size_t kRead = 1 << 16;
// Bytes of a line; the rest is dropped to bound memory. Translation cuts a line far earlier, unless it is almost only
// white space.
constexpr size_t kLongestLine = 1 << 24;

}  // namespace

bool Stream::take(std::vector<std::string>& lines, size_t& number) {
  const std::lock_guard<std::mutex> reading(reading_);
  {
    std::unique_lock<std::mutex> writing(writing_);
    written_more_.wait(writing, [&] { return taken_ - written_ < ahead_; });
  }
  lines.clear();
  std::string line;
  for (size_t bytes = 0; bytes < window_ && next_line(line); bytes += line.size() + 1) lines.push_back(line);
  if (lines.empty()) return false;
  number = taken_++;
  return true;
}

void Stream::put(size_t number, std::string text) {
  const std::lock_guard<std::mutex> writing(writing_);
  waiting_[number] = std::move(text);
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == written_; ++written_) {
    write_all(next->second);
    next = waiting_.erase(next);
  }
  written_more_.notify_all();
}

// Reads a line without its line break, which the last line may lack. Returns false at the end.
bool Stream::next_line(std::string& line) {
  line.clear();
  bool any = false;
  while (at_ < buffer_.size() || fill()) {
    any = true;
    const size_t end = buffer_.find('\n', at_);
    const size_t stop = end == buffer_.npos ? buffer_.size() : end;
    line.append(buffer_, at_, std::min(stop - at_, kLongestLine - line.size()));
    at_ = stop + 1;
    if (end != buffer_.npos) return true;
  }
  return any;
}

bool Stream::fill() {
  buffer_.resize(kRead);
  ssize_t count;
  do count = read(in_, buffer_.data(), kRead);
  while (count < 0 && errno == EINTR);
  if (count < 0) throw Error(std::string("cannot read the input: ") + std::strerror(errno));
  buffer_.resize((size_t)count);
  at_ = 0;
  return count > 0;
}

void Stream::write_all(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(out_, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw Error(std::string("cannot write the translation: ") + std::strerror(errno));
    if (count > 0) done += (size_t)count;
  }
}

}  // namespace nmt
