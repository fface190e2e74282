function text = as_yaml(parameters)
% Parameters of a projector as the library reads them (JSON is YAML). Empty ones are left out.
  names = fieldnames(parameters);
  for i = 1:numel(names)
    if isempty(parameters.(names{i}))
      parameters = rmfield(parameters, names{i});
    end
  end
  text = '{}';
  if ~isempty(fieldnames(parameters))
    text = jsonencode(parameters);
  end
end
% SPDX-License-Identifier: Apache-2.0
