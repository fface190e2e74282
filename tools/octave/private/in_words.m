function words = in_words(numbers)
% "12 x 10 x 8"
  words = sprintf('%d x ', numbers);
  words = words(1:end - 3);
end
% SPDX-License-Identifier: Apache-2.0
