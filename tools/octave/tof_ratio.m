function quotient = tof_ratio(numerator, denominator)
% TOF_RATIO  numerator ./ denominator, and 0 where that would divide by 0.
  quotient = (numerator ./ (denominator + (denominator == 0))) .* (denominator ~= 0);
end
% SPDX-License-Identifier: Apache-2.0
