function require_struct(given, name, required, optional)
% An error unless `given` is a struct that has the fields of `required`, and no others than these and `optional`
% (a cell array of names; 'any' for all names).
  if ~isstruct(given) || numel(given) ~= 1
    error('tofstream:invalid', '%s is %s %s, and must be one struct%s', name, in_words(size(given)), class(given), ...
          strjoin([{''}, required], ' .'));
  end
  for i = 1:numel(required)
    if ~isfield(given, required{i})
      error('tofstream:invalid', '%s.%s is missing', name, required{i});
    end
  end
  if ischar(optional)
    return
  end
  unknown = setdiff(fieldnames(given), [required, optional]);
  if ~isempty(unknown)
    error('tofstream:invalid', '%s.%s is not known: %s has the fields %s', name, unknown{1}, name, ...
          strjoin([required, optional], ', '));
  end
end
% SPDX-License-Identifier: Apache-2.0
