// Finds the profile of a GPU among the data files, and keeps those that were parsed.
#include "sim/io/hardware/find_profile.h"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io {
namespace {

// The profiles that were parsed without a complaint, by path and digest of the file. Threads may share it.
class ParsedProfiles {
 public:
  [[nodiscard]] std::shared_ptr<const cost::Profile> find(const ReadFile& file) const {
    const std::scoped_lock lock(mutex_);
    const auto found = profiles_.find({file.path, file.digest});
    return found == profiles_.end() ? nullptr : found->second;
  }
  void keep(const ReadFile& file, const cost::Profile& profile) {
    auto kept = std::make_shared<const cost::Profile>(profile);
    const std::scoped_lock lock(mutex_);
    profiles_.insert_or_assign({file.path, file.digest}, std::move(kept));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::uint64_t>, std::shared_ptr<const cost::Profile>> profiles_;
};

// Shared by the program, because a search or a validation reads many scenarios with one profile. The digest of the
// bytes is part of the key, so it never changes an answer.
ParsedProfiles& parsed_profiles() {
  static ParsedProfiles profiles;
  return profiles;
}

}  // namespace

std::optional<cost::Profile> find_profile(const std::string& name, Findings& findings) {
  const std::optional<std::filesystem::path> path = find_data_file(kProfiles, name);
  if (!path) return std::nullopt;
  note_hidden(kProfiles, name, *path);
  const std::size_t complaints = findings.complaints.size();
  const std::optional<std::string> text = read_text_file(*path, printable(path->string()), findings);
  if (!text) return std::nullopt;
  const ReadFile file = findings.files.back();
  if (const auto known = parsed_profiles().find(file)) return *known;
  std::optional<Document> document = document_from_bytes(*text, *path, findings);
  if (document) document = with_bases(*std::move(document), kProfiles, findings);
  if (!document) return std::nullopt;
  const bool whole = findings.files.back().path == file.path;  // it has no base
  cost::Profile profile = read_profile(document->root(findings));
  if (whole && findings.complaints.size() == complaints) parsed_profiles().keep(file, profile);
  return profile;
}

}  // namespace foretoken::io
