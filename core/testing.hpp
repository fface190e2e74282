// All that a gadget's unit test includes: a gadget called directly, with an Emit that collects and a Context that
// remembers (core/gadget/collecting_emit.hpp), or made from YAML and fed message by message (core/run/gadget_test.hpp).
#pragma once
#include "core/gadget.hpp"
#include "core/gadget/collecting_emit.hpp"
#include "core/run/gadget_test.hpp"
// SPDX-License-Identifier: Apache-2.0
