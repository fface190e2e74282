// What the user gave, as one tree: the pipeline file laid over its includes, then the options of
// the command line.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/pipeline.hpp"
#include "core/value.hpp"

namespace tofstream {

// Replaces `include: file` or a list of files by their contents, which the including document
// overrides: maps merge key by key, but a gadget that says `use` again starts afresh. Paths are
// relative to `folder`.
Value with_includes(Value document, const std::filesystem::path& folder, Problems& problems);

// Applies --set, --input and --backend. Unknown names are left for the later checks, whose messages
// then begin with the option's text.
void apply_options(Value& document, const PipelineOptions& options, const Registry& known, Problems& problems);

}  // namespace tofstream
