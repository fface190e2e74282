// What a shell offers for the values of options, where they are more than a few fixed words.
#pragma once

#include <string>

#include "tools/command/command_line.hpp"

namespace tofstream::command {

/// Those that come with tofstream; `kind`: "pipelines", "scanners" or "phantoms".
Suggest suggest_shared(std::string kind);

/// The gadgets there are, those of plug-ins too.
Suggestions suggest_gadgets(const Given& given);

/// For --set: `gadget.parameter=` of the pipeline that the line names, as `pipeline` or --pipeline; nothing where it
/// names none, or one with mistakes. Behind the = the values of a parameter that has only a few.
Suggestions suggest_settings(const Given& given);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
