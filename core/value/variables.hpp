// Variables of a pipeline: `variables: {dose: 5}` at the top, `${dose}`, `${dose:-default}` and the literal `$${` in
// any scalar below it.
#pragma once
#include <set>
#include <string>

#include "core/value/value.hpp"

namespace tofstream {

using VariableNames = std::set<std::string, std::less<>>;

// Adds the names that the value's scalars refer to. A file that is included and partly overridden still uses what it
// mentions, so call this for each file as it was read.
void collect_variable_uses(const Value& value, VariableNames& names);

// Replaces every reference below `document` and removes its key `variables`. A scalar that is one reference becomes
// the variable's whole value, with the variable's place; within a text the variable must be a scalar. `given` are
// values from an enclosing pipeline, already without references, and come before the document's own. Unknown variables,
// those that refer to themselves and those that neither the document nor `used` mentions become problems.
void substitute_variables(Value& document, const Value& given, const VariableNames& used, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
