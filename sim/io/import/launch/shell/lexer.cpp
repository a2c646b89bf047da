// Splits a shell script into words and operators.
//
// Grammar: POSIX.1-2017, Shell Command Language, sections 2.2 to 2.4 and 2.7, with the arrays and [[ ]] of bash.
#include "sim/io/import/launch/shell/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {
namespace {

constexpr int kDeepestPart = 64;

std::size_t end_of_part_at(std::string_view source, std::size_t begin, int depth);

std::size_t end_of_single(std::string_view source, std::size_t begin) {
  const std::size_t end = source.find('\'', begin + 1);
  return end == source.npos ? source.size() : end + 1;
}

std::size_t end_of_back(std::string_view source, std::size_t begin) {
  for (std::size_t at = begin + 1; at < source.size(); ++at) {
    if (source[at] == '\\')
      ++at;
    else if (source[at] == '`')
      return at + 1;
  }
  return source.size();
}

// Inside double quotes only dollars, back quotes and backslashes have a meaning.
std::size_t end_of_double(std::string_view source, std::size_t begin, int depth) {
  for (std::size_t at = begin + 1; at < source.size();) {
    if (source[at] == '"') return at + 1;
    if (source[at] == '\\')
      at += 2;
    else if (source[at] == '$' || source[at] == '`')
      at = end_of_part_at(source, at, depth + 1);
    else
      ++at;
  }
  return source.size();
}

std::size_t end_of_bracket(std::string_view source, std::size_t begin, char open, char close, int depth) {
  int level = 1;
  for (std::size_t at = begin; at < source.size();) {
    const char c = source[at];
    if (c == '\\') {
      at += 2;
      continue;
    }
    if (c == '"' || c == '\'' || c == '`' || c == '$') {
      at = end_of_part_at(source, at, depth + 1);
      continue;
    }
    if (c == open) ++level;
    ++at;
    if (c == close && --level == 0) return at;
  }
  return source.size();
}

// Finds the bracket that ends $(...). The bracket behind a pattern of a case and those in comments do not.
class Substitution {
 public:
  Substitution(std::string_view source, std::size_t begin, int depth) : source_(source), at_(begin), depth_(depth) {}

  std::size_t end() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '#' && !in_word_) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || std::string_view(";&|<>()").find(c) != kNone) {
        end_word();
        ++at_;
        if (closes(c)) return at_;
      } else {
        take_part();
      }
    }
    return source_.size();
  }

 private:
  enum class Inside : std::uint8_t { kBrackets, kSubject, kPatterns, kCommands };  ///< the last three: of a case
  static constexpr std::size_t kNone = std::string_view::npos;

  // Words with quotes or dollars are no words of the grammar.
  void take_part() {
    const std::size_t end = end_of_part_at(source_, at_, depth_ + 1);
    plain_ = (in_word_ ? plain_ : true) && end == at_ + 1;
    if (plain_) word_ += source_[at_];
    in_word_ = true;
    at_ = end;
  }

  void end_word() {
    if (!in_word_) return;
    const std::string word = std::exchange(word_, "");
    take_word(plain_ ? std::string_view(word) : std::string_view());
    in_word_ = false;
  }

  void take_word(std::string_view word) {
    constexpr std::string_view kBeforeCommands[] = {"if",    "then",  "elif", "else", "do",
                                                    "while", "until", "{",    "!",    "time"};
    Inside& inside = inside_.back();
    const bool command = std::exchange(command_, false);
    if (inside == Inside::kSubject && word == "in") {
      inside = Inside::kPatterns;
    } else if (word == "esac" && (inside == Inside::kPatterns || (inside == Inside::kCommands && command))) {
      inside_.pop_back();
    } else if (word == "case" && command && inside != Inside::kPatterns) {
      inside_.push_back(Inside::kSubject);
    } else {
      command_ = command && std::ranges::find(kBeforeCommands, word) != std::end(kBeforeCommands);
    }
  }

  // Takes a blank or an operator. Returns true for the bracket that ends the substitution.
  bool closes(char c) {
    Inside& inside = inside_.back();
    if (std::string_view(";&|\n()").find(c) != kNone && inside != Inside::kSubject) command_ = true;
    if (c == ';' && inside == Inside::kCommands &&
        (source_.substr(at_ - 1, 2) == ";;" || source_.substr(at_ - 1, 2) == ";&"))
      inside = Inside::kPatterns;
    if (c == ')' && inside == Inside::kPatterns) {
      inside = Inside::kCommands;
    } else if (c == ')' && inside == Inside::kBrackets) {
      inside_.pop_back();
    } else if (c == '(' && inside != Inside::kPatterns) {
      inside_.push_back(Inside::kBrackets);
    }
    return inside_.empty();
  }

  std::string_view source_;
  std::size_t at_;
  int depth_;
  std::vector<Inside> inside_{Inside::kBrackets};
  std::string word_ = "";
  bool in_word_ = false, plain_ = true;
  bool command_ = true;  ///< a command may begin here
};

// The length of NAME, of a digit, or of a special parameter.
std::size_t name_length(std::string_view text) {
  if (std::string_view("@*#?$!-0123456789").find(text[0]) != std::string_view::npos) return 1;
  const auto end = std::ranges::find_if_not(text, is_of_name);
  return static_cast<std::size_t>(end - text.begin());
}

std::size_t end_of_dollar(std::string_view source, std::size_t begin, int depth) {
  const std::size_t next = begin + 1;
  if (next >= source.size()) return next;
  const bool substitutes = source[next] == '(' && source.substr(next, 2) != "((";
  if (substitutes) return Substitution(source, next + 1, depth).end();
  if (source[next] == '(') return end_of_bracket(source, next + 1, '(', ')', depth);
  if (source[next] == '{') return end_of_bracket(source, next + 1, '{', '}', depth);
  if (source[next] == '\'') return end_of_single(source, next);
  return next + name_length(source.substr(next));
}

std::size_t end_of_part_at(std::string_view source, std::size_t begin, int depth) {
  if (depth > kDeepestPart) return source.size();
  std::size_t end = begin + 1;
  switch (source[begin]) {
    case '\'':
      end = end_of_single(source, begin);
      break;
    case '"':
      end = end_of_double(source, begin, depth);
      break;
    case '`':
      end = end_of_back(source, begin);
      break;
    case '$':
      end = end_of_dollar(source, begin, depth);
      break;
    case '\\':
      end = begin + 2;
      break;
    case kUnknown:
      end = std::min(source.find(kUnknown, begin + 1), source.size() - 1) + 1;
      break;
    default:
      break;
  }
  return std::min(end, source.size());
}

class Lexer {
 public:
  Lexer(std::string_view source, int line) : source_(source), line_(line) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = source_[at_];
    if (c == '\n') return newline();
    if (c == ' ' || c == '\t' || c == '\r') return void(++at_);
    if (c == '\\' && source_.substr(at_, 2) == "\\\n") return skip(2);
    if (c == '#') return void(at_ = std::min(source_.find('\n', at_), source_.size()));
    if (take_operator()) return;
    word();
  }

  void skip(std::size_t count) {
    line_ += static_cast<int>(std::ranges::count(source_.substr(at_, count), '\n'));
    at_ += count;
  }

  void newline() {
    add(";", true);
    ++at_;
    ++line_;
    for (const HereDocument& document : documents_) read_document(document);
    documents_.clear();
  }

  struct HereDocument {
    std::string end{};
    std::size_t token = 0;  // that keeps the text
    bool expands = true;
  };

  void read_document(const HereDocument& document) {
    std::string all;
    while (at_ < source_.size()) {
      const std::size_t stop = std::min(source_.find('\n', at_), source_.size());
      std::string_view text = source_.substr(at_, stop - at_);
      at_ = std::min(stop + 1, source_.size());
      ++line_;
      while (text.starts_with('\t')) text.remove_prefix(1);
      while (text.ends_with('\r')) text.remove_suffix(1);
      if (text == document.end) break;
      all += text;
      all += '\n';
    }
    if (document.token >= tokens_.size()) return;
    tokens_[document.token].document = std::move(all);
    tokens_[document.token].document_expands = document.expands;
  }

  bool take_operator() {
    static constexpr std::array<std::string_view, 19> kOperators = {
        "<<<", "&>>", "<<-", ";;", "&&", "||", "<<", ">>", ">&", "<&", "&>", ">|", ";", "&", "|", "(", ")", "<", ">"};
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("((")) return arithmetic_command();
    for (const std::string_view op : kOperators) {
      if (!rest.starts_with(op)) continue;
      add(std::string(op), true);
      at_ += op.size();
      if (op == "<<" || op == "<<-") document_name();
      return true;
    }
    return false;
  }

  // ((expression)) as a command is one word.
  bool arithmetic_command() {
    const bool starts_command = tokens_.empty() || tokens_.back().is_operator || tokens_.back().text == "if" ||
                                tokens_.back().text == "for" || tokens_.back().text == "while" ||
                                tokens_.back().text == "elif";
    if (!starts_command) return false;
    const std::size_t end = end_of_bracket(source_, at_ + 1, '(', ')', 0);
    take_word(end);
    return true;
  }

  void document_name() {
    while (at_ < source_.size() && (source_[at_] == ' ' || source_[at_] == '\t')) ++at_;
    std::string name;
    const bool quoted = at_ < source_.size() && std::string_view("'\"\\").find(source_[at_]) != std::string_view::npos;
    for (; at_ < source_.size() && !std::isspace(static_cast<unsigned char>(source_[at_])); ++at_)
      if (source_[at_] != '\'' && source_[at_] != '"' && source_[at_] != '\\') name += source_[at_];
    while (!name.empty() && std::string_view(";|&)").find(name.back()) != std::string_view::npos) name.pop_back();
    tokens_.pop_back();
    const std::size_t before = tokens_.empty() ? 0 : tokens_.size() - 1;
    if (!name.empty()) documents_.push_back({name, before, !quoted});
  }

  void word() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const char c = source_[end];
      const bool assigns = end > at_ && source_[end - 1] == '=';
      if (std::isspace(static_cast<unsigned char>(c))) break;
      if (assigns && c == '(')
        end = end_of_array(end);
      else if (assigns && c == '<')
        end = end_of_placeholder(end);
      else if (std::string_view(";&|()<>").find(c) != std::string_view::npos)
        break;
      else
        end = end_of_part(source_, end);
    }
    take_word(std::max(end, at_ + 1));
  }

  // Comments inside an array may hold quotes and brackets.
  std::size_t end_of_array(std::size_t begin) const {
    bool starts = true;
    for (std::size_t at = begin + 1; at < source_.size();) {
      const char c = source_[at];
      if (c == '#' && starts) {
        at = std::min(source_.find('\n', at), source_.size());
        continue;
      }
      if (c == ')') return at + 1;
      starts = std::isspace(static_cast<unsigned char>(c)) != 0;
      at = end_of_part(source_, at);
    }
    return source_.size();
  }

  // Examples write NAME=<what to put here>, which a shell would read as a redirection.
  std::size_t end_of_placeholder(std::size_t begin) const {
    const std::size_t end = source_.find_first_of(">\n", begin);
    return end == source_.npos || source_[end] == '\n' ? std::min(end, source_.size()) : end + 1;
  }

  void take_word(std::size_t end) {
    end = std::min(end, source_.size());
    add(std::string(source_.substr(at_, end - at_)), false);
    skip(end - at_);
  }

  void add(std::string text, bool is_operator) {
    // 2>&1: the digit belongs to the operator.
    int stream = 1;
    const bool redirects = is_operator && (text.starts_with('>') || text.starts_with('<'));
    if (redirects && at_ > 0 && !tokens_.empty() && !tokens_.back().is_operator && tokens_.back().text.size() == 1 &&
        std::isdigit(static_cast<unsigned char>(tokens_.back().text[0])) != 0 &&
        source_[at_ - 1] == tokens_.back().text[0]) {
      stream = tokens_.back().text[0] - '0';
      tokens_.pop_back();
    }
    tokens_.push_back({std::move(text), line_, is_operator});
    tokens_.back().stream = stream;
  }

  std::string_view source_;
  int line_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_{};
  std::vector<HereDocument> documents_{};  // here documents that begin behind this line
};

}  // namespace

std::size_t end_of_part(std::string_view source, std::size_t begin) { return end_of_part_at(source, begin, 0); }

std::string quoted_document(std::string_view document) {
  std::string quoted = "\"";
  for (const char c : document) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<Token> tokens_of(std::string_view source, int first_line) { return Lexer(source, first_line).run(); }

std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && is_of_name(word[end])) ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0) return 0;
  std::size_t behind = end;
  if (behind < word.size() && word[behind] == '[') behind = std::min(word.find(']', behind), word.size() - 1) + 1;
  const std::string_view rest = word.substr(behind);
  return rest.starts_with('=') || rest.starts_with("+=") ? behind : 0;
}

}  // namespace foretoken::io::shell
