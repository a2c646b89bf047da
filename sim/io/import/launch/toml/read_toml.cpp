// Reads TOML by recursive descent. Grammar: toml.io/en/v1.0.0.
#include "sim/io/import/launch/toml/read_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {
namespace {

using Value = nlohmann::ordered_json;

struct TomlMistake {
  std::string message;
};

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  Value document() {
    Value root = Value::object();
    Value* table = &root;
    for (skip_blank(); at_ < text_.size(); skip_blank()) {
      if (text_[at_] == '[')
        table = &header(root);
      else
        member(*table, 0);
      end_of_line();
    }
    return root;
  }

  [[nodiscard]] std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::ranges::count(text_.substr(0, std::min(at_, text_.size())), '\n'));
  }

  [[nodiscard]] std::size_t column() const {
    const std::size_t end = std::min(at_, text_.size());
    const std::size_t begin = end == 0 ? 0 : text_.rfind('\n', end - 1) + 1;
    return end - std::min(begin, end) + 1;
  }

 private:
  [[noreturn]] static void refuse(std::string message) { throw TomlMistake{std::move(message)}; }

  [[nodiscard]] bool at(std::string_view word) const {
    return text_.substr(std::min(at_, text_.size())).starts_with(word);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }

  void skip_comment() {
    if (at("#")) at_ = std::min(text_.find('\n', at_), text_.size());
  }

  void skip_blank() {
    std::size_t before = text_.size() + 1;
    while (at_ != before) {
      before = at_;
      skip_spaces();
      skip_comment();
      while (at_ < text_.size() && text_[at_] == '\n') ++at_;
    }
  }

  void end_of_line() {
    skip_spaces();
    skip_comment();
    if (at_ < text_.size() && text_[at_] != '\n') refuse("expected the end of the line");
  }

  void expect(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) refuse(fmt::format("expected {}", c));
    ++at_;
  }

  std::string key_part() {
    skip_spaces();
    if (at("\"") || at("'")) return string();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '-'))
      ++at_;
    if (begin == at_) refuse("expected a key");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<std::string> key() {
    std::vector<std::string> parts{key_part()};
    for (skip_spaces(); at("."); skip_spaces()) {
      ++at_;
      parts.push_back(key_part());
      if (parts.size() > kDeepestNesting) refuse("a key of too many parts");
    }
    return parts;
  }

  static Value& inner_table(Value& table, const std::string& name) {
    Value& inner = table[name];
    if (inner.is_null()) inner = Value::object();
    if (!inner.is_object()) refuse(fmt::format("{} is no table", in_quotes(name)));
    return inner;
  }

  Value& header(Value& root) {
    if (at("[[")) refuse("arrays of tables are not supported");
    ++at_;
    Value* table = &root;
    for (const std::string& part : key()) table = &inner_table(*table, part);
    expect(']');
    return *table;
  }

  void member(Value& table, int depth) {
    const std::vector<std::string> parts = key();
    Value* place = &table;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) place = &inner_table(*place, parts[i]);
    expect('=');
    if (place->contains(parts.back())) refuse(fmt::format("{} is stated twice", in_quotes(parts.back())));
    (*place)[parts.back()] = value(depth + 1);
  }

  Value value(int depth) {
    if (depth > kDeepestNesting) refuse(fmt::format("nested deeper than {} levels", kDeepestNesting));
    skip_spaces();
    if (at("\"") || at("'")) return string();
    if (at("[")) return array(depth);
    if (at("{")) return inline_table(depth);
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(",]}#\n\r\t ").find(text_[at_]) == std::string_view::npos) ++at_;
    if (begin == at_) refuse("expected a value");
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool known = word == "true" || word == "false" || word == "inf" || word == "nan" ||
                       std::string_view("+-0123456789").find(word[0]) != std::string_view::npos;
    if (!known) refuse(fmt::format("expected a value, found {}", in_quotes(word)));
    return std::string(word);
  }

  Value array(int depth) {
    Value list = Value::array();
    ++at_;
    for (skip_blank(); !at("]"); skip_blank()) {
      list.push_back(value(depth + 1));
      skip_blank();
      if (!at("]")) expect(',');
    }
    ++at_;
    return list;
  }

  Value inline_table(int depth) {
    Value table = Value::object();
    ++at_;
    for (skip_spaces(); !at("}"); skip_spaces()) {
      member(table, depth);
      skip_spaces();
      if (!at("}")) expect(',');
    }
    ++at_;
    return table;
  }

  std::string string() {
    const char quote = text_[at_];
    const std::string three(3, quote);
    const bool is_long = at(three);
    const std::string end = is_long ? three : std::string(1, quote);
    at_ += end.size();
    std::string result;
    while (!at(end)) {
      if (at_ >= text_.size() || (!is_long && text_[at_] == '\n')) refuse("a string without its end");
      if (text_[at_] == '\\' && quote == '"')
        result += escaped();
      else
        result += text_[at_++];
    }
    at_ += end.size();
    return result;
  }

  // Escapes matter in no setting; unusual ones stay as written.
  std::string escaped() {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\\';
    at_ += 2;
    if (c == 'n') return "\n";
    if (c == 't') return "\t";
    if (c == '"' || c == '\\') return std::string(1, c);
    return std::string("\\") + c;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Value> read_toml(std::string_view text, const std::string& file, Findings& findings) {
  TomlReader reader(text);
  try {
    return reader.document();
  } catch (const TomlMistake& mistake) {
    findings.complaints.push_back({fmt::format("{}:{}:{}", file, reader.line(), reader.column()), "",
                                   fmt::format("not TOML that can be read: {}", printable(mistake.message, 200))});
    return std::nullopt;
  }
}

}  // namespace foretoken::io::launch
