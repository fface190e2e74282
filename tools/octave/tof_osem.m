function image = tof_osem(A, counts, varargin)
% TOF_OSEM  OSEM over the views of A: x <- x / s_k A_k'(y / (A_k x + b)), with each subset's own sensitivity s_k.
%
%   x = tof_osem(A, counts, 'subsets', 8, 'updates', 60)
%
%   subsets    parts of the views that each cover the circle; 1, which is MLEM, where it is left out
%   updates    with one subset each; as many as there are subsets where it is left out
%   additive   expected background b in counts, of the counts' size
%   image      to begin with; ones where it is left out
%
% The subsets follow one another as far apart as can be: 1 5 3 7 2 4 6 8. Voxels that a subset does not see stay as
% they are.
  [subsets, updates, additive, image] = settings_of(A, varargin);
  require_size(A, counts, 'counts');
  if ~isempty(additive), require_size(A, additive, 'additive'); end
  parts = split(A, subsets);
  order = far_apart(subsets);
  data = cell(1, subsets);
  for update = 1:updates
    k = order(mod(update - 1, subsets) + 1);
    if isempty(data{k})
      views = indices(parts{k});
      data{k} = {views_of(counts, views), views_of(additive, views), sensitivity(parts{k})};
    end
    s = data{k}{3};
    factor = tof_ratio(em_step(parts{k}, image, data{k}{1:2}), s);
    image = image .* (factor .* (s > 0) + (s <= 0));
  end
end

function [subsets, updates, additive, image] = settings_of(A, pairs)
  given = struct('subsets', 1, 'updates', [], 'additive', [], 'image', ones(A.in_size, 'single'));
  names = fieldnames(given)';
  if mod(numel(pairs), 2) ~= 0 || ~iscellstr(pairs(1:2:end))
    error('tofstream:invalid', 'settings are pairs of a name (%s) and a value', strjoin(names, ', '));
  end
  for i = 1:2:numel(pairs)
    if ~isfield(given, pairs{i})
      error('tofstream:invalid', '%s is not known: settings are %s', pairs{i}, strjoin(names, ', '));
    end
    given.(pairs{i}) = pairs{i + 1};
  end
  [subsets, updates, additive, image] = deal(given.subsets, given.updates, given.additive, single(given.image));
  if isempty(updates), updates = subsets; end
end

function require_size(A, array, name)
  if ndims(array) > 3 || ~isequal([size(array, 1), size(array, 2), size(array, 3)], A.out_size)
    error('tofstream:invalid', '%s is %s, and must be %s', name, in_words(size(array)), in_words(A.out_size));
  end
end

function some = views_of(array, views)
  some = [];
  if ~isempty(array)
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
