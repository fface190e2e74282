function given = settings_of(given, pairs)
% The struct of settings, with what pairs of a name and a value say instead.
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
end
% SPDX-License-Identifier: Apache-2.0
