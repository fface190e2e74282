// All that a gadget's unit test includes: a gadget called directly, with an Emit that collects and a Context that
// remembers (core/collecting_emit.hpp), or made from YAML and fed message by message (core/gadget_test.hpp).
#pragma once
#include "core/collecting_emit.hpp"
#include "core/gadget_test.hpp"
