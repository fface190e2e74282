// The hint for a name that is not known.
#include <doctest/doctest.h>

#include "core/base/did_you_mean.hpp"

using namespace tofstream;

TEST_CASE("a name that is not known is answered by the nearest, by one that it begins, or by one that it ends") {
  CHECK(did_you_mean("mesages", {"bytes", "messages"}) == ", did you mean 'messages'?");
  CHECK(did_you_mean("delay", {"throw_at", "delay_ms"}) == ", did you mean 'delay_ms'?");
  CHECK(did_you_mean("fwhm_mm", {"every", "psf_fwhm_mm"}) == ", did you mean 'psf_fwhm_mm'?");
  CHECK(did_you_mean("filter_mm", {"post_filter_mm"}) == ", did you mean 'post_filter_mm'?");
  CHECK(did_you_mean("ilter_mm", {"post_filter_mm"}).empty());  // not a whole word of it
  CHECK(did_you_mean("mm", {"post_filter_mm"}).empty());        // too short to say anything
  CHECK(did_you_mean("volume", {"every", "psf_fwhm_mm"}).empty());
}

TEST_CASE("names that are equally near are all named, up to three, whatever order they come in") {
  CHECK(did_you_mean("events", {"event", "bevents"}) == ", did you mean 'bevents' or 'event'?");
  CHECK(did_you_mean("events", {"bevents", "event", "event"}) == ", did you mean 'bevents' or 'event'?");
  CHECK(did_you_mean("live", {"live_d", "live_c", "live_b", "live_a", "lives_on"}) ==
        ", did you mean 'live_a' or 'live_b' or 'live_c'?");
  CHECK(did_you_mean("evnts", {"events", "event"}) == ", did you mean 'events'?");  // the nearer alone
}
// SPDX-License-Identifier: Apache-2.0
