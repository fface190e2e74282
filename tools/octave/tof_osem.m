function image = tof_osem(A, counts, varargin)
% TOF_OSEM  OSEM over the views of A: x <- x / s_k A_k'(m y / (m A_k x + b)), with each subset's own sensitivity s_k.
%
%   x = tof_osem(A, counts, 'subsets', 8, 'updates', 60)
%
%   subsets         parts of the views that each cover the circle; 1, which is MLEM, where it is left out
%   updates         with one subset each; as many as there are subsets where it is left out
%   multiplicative  m, of the counts' size; 1 where it is left out. Histo-images need it (help tof_direct)
%   additive        expected background b in counts, of the counts' size
%   image           to begin with; ones where it is left out
%
% The subsets follow one another as far apart as can be: 1 5 3 7 2 4 6 8. Voxels that a subset does not see stay as
% they are.
  given = settings_of(struct('subsets', 1, 'updates', [], 'multiplicative', [], 'additive', [], ...
                             'image', ones(A.in_size, 'single')), varargin);
  if isempty(given.updates), given.updates = given.subsets; end
  arrays = {counts, given.additive, given.multiplicative};
  names = {'counts', 'additive', 'multiplicative'};
  for i = 1:numel(arrays)
    if i == 1 || ~isempty(arrays{i}), require_size(A, arrays{i}, names{i}); end
  end
  parts = split(A, given.subsets);
  order = far_apart(given.subsets);
  data = cell(1, given.subsets);
  image = single(given.image);
  for update = 1:given.updates
    k = order(mod(update - 1, given.subsets) + 1);
    if isempty(data{k})
      of_views = cellfun(@(array) views_of(array, indices(parts{k})), arrays, 'UniformOutput', false);
      data{k} = [of_views, {sensitivity(parts{k}, of_views{3})}];
    end
    s = data{k}{4};
    factor = tof_ratio(em_step(parts{k}, image, data{k}{1:3}), s);
    image = image .* (factor .* (s > 0) + (s <= 0));
  end
end

function require_size(A, array, name)
  wanted = A.out_size;
  found = size(array);
  found(end + 1:numel(wanted)) = 1;
  if ~isequal(found, wanted(:)')
    error('tofstream:invalid', '%s is %s, and must be %s', name, in_words(size(array)), in_words(wanted));
  end
end

% Views are the last axis, the third or the fourth.
function some = views_of(array, views)
  some = [];
  if isempty(array), return, end
  if ndims(array) > 3
    some = single(array(:, :, :, views));
  else
    some = single(array(:, :, views));
  end
end

function order = far_apart(count)
% Each number once, the next one as far from the earlier ones as can be, around the circle.
  order = 1;
  while numel(order) < count
    left = setdiff(1:count, order);
    steps = abs(left - order');
    distance = min(min(steps, count - steps), [], 1);
    [~, best] = max(distance);
    order(end + 1) = left(best);
  end
end
% SPDX-License-Identifier: Apache-2.0
