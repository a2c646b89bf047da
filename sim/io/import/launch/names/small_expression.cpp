// Builds and runs the states of a small regular expression (Ken Thompson, "Regular Expression Search Algorithm", 1968).
#include "sim/io/import/launch/names/small_expression.h"

#include <utility>

namespace foretoken::io::launch {
namespace {

constexpr std::size_t kLongestExpression = 300;
constexpr int kDeepestGroup = 16;
constexpr std::string_view kMeta = "\\()|*+?^${}";

bool is_ascii(char letter) { return static_cast<unsigned char>(letter) < 128; }

}  // namespace

bool is_expression(std::string_view text) { return text.find_first_of(kMeta) != std::string_view::npos; }

/// Reads a text from left to right. A part that it does not know ends the reading.
class SmallExpression::Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<SmallExpression> read() {
    if (peek() == '^') ++at_;
    const Part whole = choice(0);
    if (failed_ || at_ != text_.size()) return std::nullopt;
    expression_.begin_ = whole.begin;
    expression_.end_ = whole.end;
    return std::move(expression_);
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  State& state(std::size_t index) { return expression_.states_[index]; }

  std::size_t add(State one) {
    expression_.states_.push_back(one);
    return expression_.states_.size() - 1;
  }

  Part fail() {
    failed_ = true;
    return {add({}), add({})};
  }

  Part empty() {
    const std::size_t only = add({});
    return {only, only};
  }

  Part letter(const Letters& letters) {
    const std::size_t end = add({});
    return {add({.letters = letters, .takes = true, .next = end}), end};
  }

  Part choice(int depth) {
    Part left = sequence(depth);
    while (!failed_ && peek() == '|') {
      ++at_;
      const Part right = sequence(depth);
      const std::size_t end = add({});
      state(left.end).next = end;
      state(right.end).next = end;
      left = {add({.next = left.begin, .other = right.begin}), end};
    }
    return left;
  }

  Part sequence(int depth) {
    Part all = empty();
    while (!failed_ && at_ < text_.size() && peek() != '|' && peek() != ')') {
      if (peek() == '$' && at_ + 1 == text_.size()) {
        ++at_;
        break;
      }
      const Part one = repeated(depth);
      state(all.end).next = one.begin;
      all.end = one.end;
    }
    return all;
  }

  Part repeated(int depth) {
    const Part one = atom(depth);
    const char sign = peek();
    if (failed_ || (sign != '*' && sign != '+' && sign != '?')) return one;
    ++at_;
    if (peek() == '?') ++at_;  // a lazy sign matches the same names
    const std::size_t end = add({}), fork = add({.next = one.begin, .other = end});
    state(one.end).next = sign == '?' ? end : fork;
    return {sign == '+' ? one.begin : fork, end};
  }

  Part atom(int depth) {
    const char first = peek();
    ++at_;
    if (first == '(') return group(depth);
    if (first == '[') return set();
    if (first == '.') return letter(Letters().set());
    if (first == '\\') {
      const auto letters = escaped();
      return letters ? letter(*letters) : fail();
    }
    if (kMeta.find(first) != kMeta.npos || !is_ascii(first)) return fail();
    return letter(one(first));
  }

  Part group(int depth) {
    if (depth >= kDeepestGroup) return fail();
    if (peek() == '?') {
      if (text_.substr(at_, 2) != "?:") return fail();  // look-ahead, names, flags
      at_ += 2;
    }
    const Part inside = choice(depth + 1);
    if (peek() != ')') return fail();
    ++at_;
    return inside;
  }

  static Letters one(char value) { return Letters().set(static_cast<unsigned char>(value)); }

  static Letters range(char low, char high) {
    Letters letters;
    for (int value = low; value <= high; ++value) letters.set(static_cast<std::size_t>(value));
    return letters;
  }

  // Returns the letters behind a backslash: \d, \w, \s, their opposites, or a sign itself.
  std::optional<Letters> escaped() {
    const char name = peek();
    ++at_;
    const Letters digits = range('0', '9'), words = digits | range('a', 'z') | range('A', 'Z') | one('_');
    if (name == 'd') return digits;
    if (name == 'D') return ~digits;
    if (name == 'w') return words;
    if (name == 'W') return ~words;
    if (name == 's') return one(' ') | range('\t', '\r');
    const bool sign = is_ascii(name) && name != '\0' && !words.test(static_cast<std::size_t>(name));
    return sign ? std::optional(one(name)) : std::nullopt;
  }

  Part set() {
    const bool other = peek() == '^';
    if (other) ++at_;
    Letters letters;
    for (bool first = true; peek() != ']' || first; first = false) {
      const char low = peek();
      if (at_ >= text_.size() || !is_ascii(low)) return fail();
      ++at_;
      if (low == '\\') {
        const auto some = escaped();
        const bool begins_range = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
        if (!some || begins_range) return fail();
        letters |= *some;
        continue;
      }
      const bool ranges = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!ranges) {
        letters |= one(low);
        continue;
      }
      const char high = text_[at_ + 1];
      if (!is_ascii(high) || high == '\\' || high < low) return fail();
      letters |= range(low, high);
      at_ += 2;
    }
    ++at_;
    return letter(other ? ~letters : letters);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
  SmallExpression expression_{};
};

std::optional<SmallExpression> SmallExpression::read(std::string_view text) {
  return text.size() <= kLongestExpression ? Reader(text).read() : std::nullopt;
}

bool SmallExpression::matches(std::string_view name) const {
  std::vector<bool> reached(states_.size());
  std::vector<std::size_t> now;
  // Adds a state, and all that it goes on to without a letter.
  const auto enter = [&](std::size_t first) {
    std::vector<std::size_t> open = {first};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (at == kNone || reached[at]) continue;
      reached[at] = true;
      now.push_back(at);
      if (!states_[at].takes) open.insert(open.end(), {states_[at].next, states_[at].other});
    }
  };
  enter(begin_);
  for (const char each : name) {
    const auto letter = static_cast<unsigned char>(each);
    if (now.empty() || letter >= 128) return false;
    const std::vector<std::size_t> before = std::exchange(now, {});
    reached.assign(states_.size(), false);
    for (const std::size_t at : before)
      if (states_[at].takes && states_[at].letters.test(letter)) enter(states_[at].next);
  }
  return reached[end_];
}

}  // namespace foretoken::io::launch
