// A reader of JSON, member by member: headers of safetensors files, model.json and vocabulary.json.
#pragma once

#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/error.h"

namespace nmt {

// A reader at a position in a text. Each function reads one kind of value and throws Error at anything else.
class Json {
 public:
  // subject: begins error messages.
  Json(std::string_view text, std::string subject)
      : at_(text.data()), end_(text.data() + text.size()), subject_(std::move(subject)) {}

  void expect(char c) {
    if (!accept(c)) fail(std::string("lacks a '") + c + "'");
  }
  // Skips this character and returns true if it is next.
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
      if ((unsigned char)*at_ < 0x20) fail("has a control character in a string");
      if (*at_ == '\\')
        escape(text);
      else
        text += *at_++;
    }
    expect('"');
    return text;
  }
  size_t number() {
    space();
    size_t value = 0;
    const char* const start = at_;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (value > ((size_t)-1 - 9) / 10) fail("has a number that is too large");
      value = 10 * value + (size_t)(*at_ - '0');
    }
    if (at_ == start) fail("lacks a number");
    return value;
  }
  // A value without quotes: any number, true, false or null.
  std::string bare() {
    space();
    std::string text;
    while (at_ != end_ && (std::isalnum((unsigned char)*at_) || (*at_ && std::strchr("+-.", *at_)))) text += *at_++;
    if (text.empty()) fail("lacks a value");
    return text;
  }
  // Skips a value of any kind.
  void skip(int depth = 0) {
    if (depth > kDeepest) fail("is nested too deeply");
    space();
    if (at_ != end_ && *at_ == '{')
      object([&](const std::string&) { skip(depth + 1); });
    else if (at_ != end_ && *at_ == '[')
      array([&] { skip(depth + 1); });
    else if (at_ != end_ && *at_ == '"')
      string();
    else
      bare();
  }
  std::vector<size_t> numbers() {
    std::vector<size_t> values;
    array([&] { values.push_back(number()); });
    return values;
  }
  std::vector<std::string> strings() {
    std::vector<std::string> values;
    array([&] { values.push_back(string()); });
    return values;
  }
  // Calls entry() at each entry of an array.
  template <class F>
  void array(F entry) {
    expect('[');
    if (accept(']')) return;
    do entry();
    while (accept(','));
    expect(']');
  }
  // Calls member(key) at each member of an object.
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
  [[noreturn]] void fail(const std::string& what) const { throw Error(subject_ + " " + what); }
  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  void escape(std::string& text) {
    static const char kEscapes[] = "\"\\/bfnrt", kMeanings[] = "\"\\/\b\f\n\r\t";
    ++at_;
    if (at_ != end_ && *at_ == 'u') {
      ++at_;
      return append(text, code_unit());
    }
    const char* const found = at_ == end_ || !*at_ ? nullptr : std::strchr(kEscapes, *at_);
    if (!found) fail("has an escape that JSON does not know");
    text += kMeanings[found - kEscapes];
    ++at_;
  }
  unsigned code_unit() {
    unsigned value = 0;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      if (at_ == end_ || !std::isxdigit((unsigned char)*at_)) fail("has an escape that is cut off");
      const int letter = std::tolower((unsigned char)*at_);
      value = 16 * value + (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);
    }
    return value;
  }
  // As UTF-8. The project's own files escape only control characters, so surrogates are refused.
  void append(std::string& text, unsigned code) const {
    if (code >= 0xD800 && code < 0xE000) fail("has an escaped surrogate; write the character itself");
    if (code < 0x80) {
      text += (char)code;
    } else if (code < 0x800) {
      text += {(char)(0xC0 | code >> 6), (char)(0x80 | (code & 0x3F))};
    } else {
      text += {(char)(0xE0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3F)), (char)(0x80 | (code & 0x3F))};
    }
  }

  static constexpr int kDeepest = 100;  // nesting of a skipped value; each level takes stack

  const char* at_;
  const char* end_;
  std::string subject_;
};

}  // namespace nmt
