// Parses JSON with a SAX handler of its own, because the stock parser allows duplicate keys and any depth.
#include "sim/io/json/parse_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/hash.h"
#include "sim/base/text.h"
#include "sim/io/json/gunzip.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

/// Returns the place of the byte at `offset`: "line 3, column 14". Columns count bytes from 1.
std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.'; }

/// Returns the text at `offset`: a whole word, the string that ends there, or one character.
std::string_view token_at(std::string_view text, std::size_t offset) {
  std::size_t first = offset, last = offset + 1;
  if (is_word(text[offset])) {
    while (first > 0 && is_word(text[first - 1])) --first;
    while (last < text.size() && is_word(text[last])) ++last;
  } else if (text[offset] == '"' && offset > 0) {
    const std::size_t opening = text.rfind('"', offset - 1);
    if (opening != text.npos) first = opening;
  }
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  while (first > 0 && continues(first)) --first;
  while (last < text.size() && continues(last)) ++last;
  return text.substr(first, last - first);
}

/// Describes the mistake at which the parser stopped, after reading `position` bytes.
std::string syntax_complaint(std::string_view text, std::size_t position, const json::exception& error) {
  constexpr int kNumberOverflow = 406;  // id of nlohmann's out_of_range for 1e400
  const std::size_t at = std::min(position == 0 ? 0 : position - 1, text.size());
  if (error.id == kNumberOverflow)
    return fmt::format("{}: the number {} is too large for a 64-bit floating-point number", place(text, at),
                       printable(token_at(text, at), 24));
  if (std::string_view(error.what()).find("surrogate") != std::string_view::npos) {
    constexpr std::size_t kEscape = 6;  // \uD800
    const std::size_t escape = std::min(text.rfind("\\u", at), text.size());
    return fmt::format("not JSON: {} at {} is half of a surrogate pair; expected the other half beside it",
                       printable(text.substr(escape, kEscape), 24), place(text, escape));
  }
  const bool at_end = text.find_first_not_of(" \t\r\n", at) == std::string_view::npos;
  if (at_end) return fmt::format("not JSON: the text ends too early, at {}", place(text, text.size()));
  const std::string_view word = token_at(text, at);
  const std::size_t start = static_cast<std::size_t>(word.data() - text.data());
  std::string hint;
  if (word.find("NaN") != word.npos || word.find("nan") != word.npos || word.find("Inf") != word.npos ||
      word.find("inf") != word.npos)
    hint = "; JSON has no NaN and no infinity (Python writes them): write a finite number or leave the key out";
  if (text[at] == '}' || text[at] == ']') hint = "; is there a comma too many before it?";
  if (text[at] == '"') hint = "; is there a comma or a colon missing before it?";
  if (text[at] == '/' || text[at] == '#') hint = "; JSON has no comments";
  if (text[at] == '\'') hint = "; strings take double quotes";
  if (static_cast<unsigned char>(text[at]) < 0x20) hint = "; a string must end on its line";
  return fmt::format("not JSON: unexpected {} at {}{}", in_quotes(word), place(text, start), hint);
}

/// Builds a json value from parser events, and stops at the first forbidden one.
class Builder final : public json::json_sax_t {
 public:
  Builder(std::string_view text, const std::string& file, Findings& findings)
      : text_(text), file_(file), findings_(findings) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [member, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(std::move(name));
    if (!is_new) return refuse("stated twice; keep one", member->first);
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    findings_.complaints.push_back({file_, "", syntax_complaint(text_, position, error)});
    return false;
  }

 private:
  /// Adds `value` at the parser's position and returns its address, which stays valid while the value is open.
  json* place_value(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(*member_ = std::move(value));
  }

  bool add(json value) {
    place_value(std::move(value));
    return true;
  }

  bool open(json empty) {
    if (open_.size() == kDeepestNesting) {
      findings_.complaints.push_back({file_, "", fmt::format("nested deeper than {} levels", kDeepestNesting)});
      return false;
    }
    open_.push_back(place_value(std::move(empty)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool refuse(std::string_view what, const std::string& name) {
    std::string pointer;
    for (std::size_t i = 1; i < open_.size(); ++i) pointer += '/' + name_of(*open_[i], *open_[i - 1]);
    findings_.complaints.push_back({file_, pointer + '/' + printable(name, 60), std::string(what)});
    return false;
  }

  /// Returns the key of an open value, or its place in an array.
  static std::string name_of(const json& open, const json& parent) {
    if (parent.is_array()) return std::to_string(parent.size() - 1);
    for (const auto& [key, member] : parent.items())
      if (&member == &open) return printable(key, 60);
    contract_broken("an open value stands in its parent", __FILE__, __LINE__);
  }

  std::string_view text_;
  const std::string& file_;
  Findings& findings_;
  json root_;
  std::vector<json*> open_;
  json* member_ = nullptr;  ///< the value of the last key
};

}  // namespace

std::optional<json> parse_json(std::string_view text, const std::string& file, Findings& findings) {
  const auto refuse = [&](std::string message) {
    findings.complaints.push_back({file, "", std::move(message)});
    return std::nullopt;
  };
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return refuse("empty; expected a JSON object");
  if (const auto offset = invalid_utf8(text))
    return refuse(fmt::format("not UTF-8: byte 0x{:02x} at offset {} ({})", static_cast<unsigned char>(text[*offset]),
                              *offset, place(text, *offset)));
  Builder builder(text, file, findings);
  if (!json::sax_parse(text, &builder)) return std::nullopt;
  return builder.take();
}

std::optional<std::string> read_stream(std::istream& in, const std::string& file, Findings& findings) {
  std::string text;
  constexpr std::size_t kBlock = 1 << 16;
  const auto block = std::make_unique_for_overwrite<char[]>(kBlock);
  const auto refuse = [&](std::string message) {
    findings.complaints.push_back({file, "", std::move(message)});
    return std::nullopt;
  };
  while (in.read(block.get(), static_cast<std::streamsize>(kBlock)), in.gcount() > 0) {
    text.append(block.get(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestFile) return refuse(fmt::format("larger than {} MiB", kLargestFile >> 20));
  }
  if (in.bad()) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  return text;
}

std::optional<std::string> read_text_file(const std::filesystem::path& path, const std::string& file,
                                          Findings& findings) {
  const auto refuse = [&](std::string message) {
    findings.complaints.push_back({file, "", std::move(message)});
    return std::nullopt;
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return refuse("no such file");
  if (error) return refuse("cannot be read: " + error.message());
  if (std::filesystem::is_directory(status)) return refuse("is a directory; expected a file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::optional<std::string> text = read_stream(in, file, findings);
  if (!text) return std::nullopt;
  findings.files.push_back({path, hash(*text)});
  if (!is_gzip(*text)) return text;
  text = gunzip(*text, kLargestFile);
  if (!text) return refuse("broken gzip; expected a whole file, or text");
  if (text->size() > kLargestFile) return refuse(fmt::format("larger than {} MiB when unpacked", kLargestFile >> 20));
  return text;
}

}  // namespace foretoken::io
