// All that the author of a gadget includes: parameters, ports, TOFSTREAM_GADGET, and what travels on the edges.
#pragma once
#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/views.hpp"
#include "kernels/sort/select.hpp"
// SPDX-License-Identifier: Apache-2.0
