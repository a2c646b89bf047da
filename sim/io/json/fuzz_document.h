// The fuzz targets of readers of JSON: a document that must be read or refused.
#pragma once

#include "sim/base/fuzz.h"
#include "sim/io/json/document.h"

namespace foretoken::io {

/// Parses the text as JSON and calls `read` with the root of the document. Throws ConfigError where it is wrong.
template <class Read>
void read_any_document(std::string_view text, const Read& read) {
  Findings findings;
  const auto document = document_from_text(text, "fuzz", findings);
  findings.throw_if_wrong();
  (void)read(document->root(findings));
  findings.throw_if_wrong();
}

}  // namespace foretoken::io
