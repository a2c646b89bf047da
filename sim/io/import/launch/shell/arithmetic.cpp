// Whole-number arithmetic of the shell, by precedence climbing.
//
// Operators and their order: POSIX.1-2017, Shell Command Language, section 2.6.4, and ** of bash.
#include "sim/io/import/launch/shell/arithmetic.h"

#include <array>
#include <cctype>
#include <charconv>

namespace foretoken::io::shell {
namespace {

using Number = std::optional<std::int64_t>;

struct Operator {
  std::string_view text;
  int level;
};
constexpr std::array<Operator, 14> kBinary = {{{"**", 7},
                                               {"||", 1},
                                               {"&&", 2},
                                               {"==", 3},
                                               {"!=", 3},
                                               {"<=", 4},
                                               {">=", 4},
                                               {"<", 4},
                                               {">", 4},
                                               {"+", 5},
                                               {"-", 5},
                                               {"*", 6},
                                               {"/", 6},
                                               {"%", 6}}};

Number checked(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &result) ? Number() : result;
  if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Number() : result;
  if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Number() : result;
  if (b == 0 || (b == -1 && op != "**")) return b == 0 ? Number() : checked("-", 0, a);
  return op == "/" ? a / b : a % b;
}

Number power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 63) return std::nullopt;
  Number result = 1;
  for (std::int64_t i = 0; i < exponent && result; ++i) result = checked("*", *result, base);
  return result;
}

Number apply(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "||") return a != 0 || b != 0;
  if (op == "&&") return a != 0 && b != 0;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "**") return power(a, b);
  if (op == "%" && b == -1) return 0;
  return checked(op, a, b);
}

class Reader {
 public:
  Reader(std::string_view text, const std::function<std::string(std::string_view)>& value_of, int depth)
      : text_(text), value_of_(value_of), depth_(depth) {}

  Number whole() {
    const Number value = choice();
    skip_spaces();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 64;

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Number choice() {
    const Number condition = binary(1);
    if (!take('?')) return condition;
    const Number first = choice();
    if (!take(':')) return std::nullopt;
    const Number second = choice();
    if (!condition) return std::nullopt;
    return *condition != 0 ? first : second;
  }

  Number binary(int level) {
    if (++depth_ > kDeepest * 8) return std::nullopt;
    Number left = unary();
    while (true) {
      skip_spaces();
      const Operator* found = nullptr;
      for (const Operator& op : kBinary)
        if (op.level >= level && text_.substr(at_).starts_with(op.text)) {
          found = &op;
          break;
        }
      if (found == nullptr) return left;
      at_ += found->text.size();
      const Number right = binary(found->level + (found->text == "**" ? 0 : 1));
      left = left && right ? apply(found->text, *left, *right) : std::nullopt;
    }
  }

  Number unary() {
    if (++depth_ > kDeepest * 8) return std::nullopt;
    if (take('!')) {
      const Number value = unary();
      return value ? Number(*value == 0) : value;
    }
    if (take('-')) {
      const Number value = unary();
      return value ? checked("-", 0, *value) : value;
    }
    if (take('+')) return unary();
    if (take('(')) {
      const Number value = choice();
      return take(')') ? value : std::nullopt;
    }
    return atom();
  }

  Number atom() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      return error == std::errc() && end == word.data() + word.size() ? Number(value) : std::nullopt;
    }
    const std::string value = value_of_(word);
    if (value.empty()) return 0;
    return depth_ > kDeepest * 4 ? std::nullopt : Reader(value, value_of_, depth_ + kDeepest).whole();
  }

  std::string_view text_;
  const std::function<std::string(std::string_view)>& value_of_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

Number arithmetic(std::string_view expression, const std::function<std::string(std::string_view)>& value_of) {
  constexpr std::size_t kLongest = 4096;
  if (expression.size() > kLongest) return std::nullopt;
  return Reader(expression, value_of, 0).whole();
}

}  // namespace foretoken::io::shell
