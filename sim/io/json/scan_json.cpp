// Scans JSON by recursive descent (RFC 8259). The handler bounds the recursion.
#include "sim/io/json/scan_json.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace foretoken::io {
namespace {

using Handler = nlohmann::json::json_sax_t;

class Scanner {
 public:
  Scanner(std::string_view text, Handler& handler)
      : at_(text.data()), end_(text.data() + text.size()), handler_(handler) {}

  Scanned scan_all() {
    skip_blanks();
    if (!value()) return result_;
    skip_blanks();
    return at_ == end_ ? Scanned::kWhole : Scanned::kUnknown;
  }

 private:
  // Every function below returns false when the scan is over, and result_ then says why.
  bool taken(bool accepted) {
    if (!accepted) result_ = Scanned::kStopped;
    return accepted;
  }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool skip(std::string_view word) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool value() {
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        return object();
      case '[':
        return array();
      case '"': {
        std::string text;
        return quoted(text) && taken(handler_.string(text));
      }
      case 't':
        return skip("true") && taken(handler_.boolean(true));
      case 'f':
        return skip("false") && taken(handler_.boolean(false));
      case 'n':
        return skip("null") && taken(handler_.null());
      default:
        return number();
    }
  }

  bool object() {
    ++at_;
    if (!taken(handler_.start_object(kUnknownSize))) return false;
    skip_blanks();
    if (skip("}")) return taken(handler_.end_object());
    for (;;) {
      std::string name;
      if (!quoted(name) || !taken(handler_.key(name))) return false;
      skip_blanks();
      if (!skip(":")) return false;
      skip_blanks();
      if (!value()) return false;
      skip_blanks();
      if (skip("}")) return taken(handler_.end_object());
      if (!skip(",")) return false;
      skip_blanks();
    }
  }

  bool array() {
    ++at_;
    if (!taken(handler_.start_array(kUnknownSize))) return false;
    skip_blanks();
    if (skip("]")) return taken(handler_.end_array());
    for (;;) {
      if (!value()) return false;
      skip_blanks();
      if (skip("]")) return taken(handler_.end_array());
      if (!skip(",")) return false;
      skip_blanks();
    }
  }

  bool quoted(std::string& text) {
    if (!skip("\"")) return false;
    for (;;) {
      const char* const plain = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
      text.append(plain, at_);
      if (skip("\"")) return true;
      if (!skip("\\") || at_ == end_) return false;
      const std::size_t escape = kEscapes.find(*at_++);
      if (escape == kEscapes.npos) return false;
      text += kEscaped[escape];
    }
  }

  bool skip_digits() {
    const char* const first = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != first;
  }

  bool number() {
    const char* const first = at_;
    const bool negative = skip("-");
    if (!skip("0") && !skip_digits()) return false;
    bool whole = true;
    if (skip(".")) {
      whole = false;
      if (!skip_digits()) return false;
    }
    if (skip("e") || skip("E")) {
      whole = false;
      if (!skip("+")) (void)skip("-");
      if (!skip_digits()) return false;
    }
    if (!whole) {
      double parsed = 0;
      return convert(first, parsed) && taken(handler_.number_float(parsed, {}));
    }
    if (negative) {
      std::int64_t parsed = 0;
      return convert(first, parsed) && taken(handler_.number_integer(parsed));
    }
    std::uint64_t parsed = 0;
    return convert(first, parsed) && taken(handler_.number_unsigned(parsed));
  }

  template <class T>
  bool convert(const char* first, T& parsed) const {
    const auto [last, error] = std::from_chars(first, at_, parsed);
    return error == std::errc{} && last == at_;
  }

  static constexpr std::size_t kUnknownSize = static_cast<std::size_t>(-1);
  static constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

  const char* at_;
  const char* end_;
  Handler& handler_;
  Scanned result_ = Scanned::kUnknown;
};

}  // namespace

Scanned scan_json(std::string_view text, Handler& handler) { return Scanner(text, handler).scan_all(); }

}  // namespace foretoken::io
