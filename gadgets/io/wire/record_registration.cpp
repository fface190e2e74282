// Adds kinds of records to their table when what they are registered in is loaded: see record_kinds.hpp. Apart from the
// table, which fuzzers link without core.
#include "core/plugin/kind_table-inl.hpp"
#include "gadgets/io/wire/record_kinds.hpp"

namespace tofstream {

template struct KindRegistration<wire::RecordKind>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
