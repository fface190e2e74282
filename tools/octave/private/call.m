function varargout = call(command, varargin)
% A command of the gateway, tofstream_mex. What it refuses becomes an error, and what the library warns of a warning.
  [identifier, line, warnings, varargout{1:nargout}] = tofstream_mex(command, varargin{:});
  for i = 1:numel(warnings)
    warning('tofstream:log', '%s', warnings{i});
  end
  if ~isempty(identifier)
    error(identifier, '%s', line);
  end
end
% SPDX-License-Identifier: Apache-2.0
