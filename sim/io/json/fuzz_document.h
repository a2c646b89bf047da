// The fuzz targets of readers of JSON: a document that must be read or refused.
#pragma once

#include "sim/base/fuzz.h"
#include "sim/io/json/document.h"

namespace foretoken::io {

/// Parses the bytes and calls `read` with the root of the document. Returns 0 for libFuzzer.
template <class Read>
int must_read_document(const std::uint8_t* data, std::size_t size, const Read& read) {
  return must_read_or_refuse([&] {
    Findings findings;
    const auto document = document_from_text(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
    (void)read(document->root(findings));
    findings.throw_if_wrong();
  });
}

}  // namespace foretoken::io
