// Whole-number arithmetic of the shell, by precedence climbing.
//
// Operators and their order: POSIX.1-2017, Shell Command Language, section 2.6.4, and ** of bash.
#include "sim/io/import/launch/shell/arithmetic.h"

#include <array>
#include <cctype>
#include <charconv>

#include "sim/io/import/launch/shell/lexer.h"

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
  Reader(std::string_view text, const std::function<std::string(std::string_view)>& value_of, Assigned* assigned,
         int depth)
      : text_(text), value_of_(value_of), assigned_(assigned), depth_(depth) {}

  Number whole() {
    Number value = choice();
    while (value && take(',')) value = choice();
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
    if (!condition) return std::nullopt;
    const Number first = choice_if(*condition != 0);
    if (!take(':')) return std::nullopt;
    const Number second = choice_if(*condition == 0);
    return *condition != 0 ? first : second;
  }

  // A part that the shell does not evaluate assigns nothing.
  template <class Part>
  Number evaluated(bool counts, const Part& part) {
    Assigned unused = assigned_ == nullptr ? Assigned() : *assigned_;
    Assigned* const outer = assigned_;
    if (!counts && outer != nullptr) assigned_ = &unused;
    const Number value = part();
    assigned_ = outer;
    return value;
  }

  Number choice_if(bool counts) {
    return evaluated(counts, [this] { return choice(); });
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
      const bool decided = left && ((found->text == "||" && *left != 0) || (found->text == "&&" && *left == 0));
      const Number right = evaluated(!decided, [&] { return binary(found->level + (found->text == "**" ? 0 : 1)); });
      if (decided) {
        left = found->text == "||";
        continue;
      }
      left = left && right ? apply(found->text, *left, *right) : std::nullopt;
    }
  }

  Number unary() {
    if (++depth_ > kDeepest * 8) return std::nullopt;
    if (take('!')) {
      const Number value = unary();
      return value ? Number(*value == 0) : value;
    }
    for (const char* step : {"++", "--"})
      if (text_.substr(at_).starts_with(step)) {
        at_ += 2;
        const std::string_view name = word();
        const Number value = number_of(name);
        return value ? set(name, checked(*step == '+' ? "+" : "-", *value, 1)) : value;
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

  // NAME=value, NAME+=value, NAME++ behind a name.
  Number assigned_to(std::string_view name, bool& done) {
    skip_spaces();
    const std::string_view rest = text_.substr(at_);
    done = true;
    if (rest.starts_with("++") || rest.starts_with("--")) {
      at_ += 2;
      const Number old = number_of(name);
      return old && set(name, checked(rest.substr(0, 1), *old, 1)) ? old : std::nullopt;
    }
    if (rest.starts_with('=') && !rest.starts_with("==")) {
      ++at_;
      return set(name, choice());
    }
    if (rest.size() > 1 && rest[1] == '=' && std::string_view("+-*/%").find(rest[0]) != std::string_view::npos) {
      at_ += 2;
      const Number old = number_of(name), value = choice();
      return old && value ? set(name, apply(rest.substr(0, 1), *old, *value)) : std::nullopt;
    }
    done = false;
    return std::nullopt;
  }

  Number set(std::string_view name, Number value) {
    if (!value || assigned_ == nullptr || name.empty()) return std::nullopt;
    assigned_->insert_or_assign(std::string(name), *value);
    return value;
  }

  // A leading 0 is octal, 0x hexadecimal.
  static Number constant(std::string_view word) {
    const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
    const int base = hexadecimal ? 16 : word.size() > 1 && word[0] == '0' ? 8 : 10;
    if (hexadecimal) word.remove_prefix(2);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    return error == std::errc() && end == word.data() + word.size() ? Number(value) : std::nullopt;
  }

  Number number_of(std::string_view name) {
    if (assigned_ != nullptr)
      if (const auto found = assigned_->find(name); found != assigned_->end()) return found->second;
    const std::string value = value_of_(name);
    if (value.empty()) return 0;
    return depth_ > kDeepest * 4 ? std::nullopt : Reader(value, value_of_, nullptr, depth_ + kDeepest).whole();
  }

  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Number atom() {
    const std::string_view name = word();
    if (name.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return constant(name);
    bool done = false;
    const Number value = assigned_to(name, done);
    return done ? value : number_of(name);
  }

  std::string_view text_;
  const std::function<std::string(std::string_view)>& value_of_;
  Assigned* assigned_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

Number arithmetic(std::string_view expression, const std::function<std::string(std::string_view)>& value_of,
                  Assigned* assigned) {
  constexpr std::size_t kLongest = 4096;
  if (expression.size() > kLongest) return std::nullopt;
  return Reader(expression, value_of, assigned, 0).whole();
}

std::vector<std::string> assigned_in(std::string_view expression) {
  std::vector<std::string> names;
  const auto in_name = [&](std::size_t at) { return at < expression.size() && is_of_name(expression[at]); };
  for (std::size_t at = 0; at < expression.size();) {
    const std::size_t begin = at;
    while (in_name(at)) ++at;
    if (at == begin) {
      ++at;
      continue;
    }
    const std::string_view before = expression.substr(0, begin);
    std::size_t next = at;
    if (next < expression.size() && expression[next] == '[') next = expression.find(']', next);
    next = next == expression.npos ? next : expression.find_first_not_of("] \t", next);
    std::string_view rest = next == expression.npos ? "" : expression.substr(next);
    bool assigns = before.ends_with("++") || before.ends_with("--") || rest.starts_with("++") || rest.starts_with("--");
    const std::size_t sign = rest.find_first_not_of("+-*/%<>&^|");
    if (sign <= 2) rest.remove_prefix(sign);
    const bool compares = sign == 1 && (expression[next] == '<' || expression[next] == '>');
    assigns = assigns || (rest.starts_with('=') && !rest.starts_with("==") && !compares);
    if (assigns) names.emplace_back(expression.substr(begin, at - begin));
  }
  return names;
}

}  // namespace foretoken::io::shell
