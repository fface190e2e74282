// Adds kinds of records and of payloads to their tables when what they are registered in is loaded: see
// record_kinds.hpp, payload_kinds.hpp. Apart from the tables, which fuzzers link without core.
#include "core/plugin/kind_table-inl.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"
#include "gadgets/io/wire/record_kinds.hpp"

namespace tofstream {

template struct KindRegistration<wire::RecordKind>;
template struct KindRegistration<wire::PayloadKind>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
