// All that a gadget's test includes besides the gadget: it is called with no runtime.
#pragma once
#include "core/testing.hpp"
// SPDX-License-Identifier: Apache-2.0
