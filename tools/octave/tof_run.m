function report = tof_run(pipeline, out, settings)
% TOF_RUN  Runs a pipeline to its end, in this process.
%
%   report = tof_run(pipeline, out) runs a pipeline by its name or its YAML file; files go to the folder `out`, which
%   must not hold another run. The report is run.json, decoded.
%   report = tof_run(pipeline, out, settings) has values of parameters, as `tofstream run --set`:
%
%   report = tof_run('spect_osem', 'results', {'feed.path', 'scan.hs', 'subsets.iterations', 5});
%
% A run that fails is the error tofstream:failed, and a wrong pipeline or parameter tofstream:invalid. The session
% waits: Ctrl-C is heard when the run has ended.
  if nargin < 3, settings = {}; end
  if ~iscell(settings) || mod(numel(settings), 2) ~= 0 || ~iscellstr(settings(1:2:end))
    error('tofstream:invalid', ...
          'settings must be a cell array of pairs of a name and a value: {''gadget.parameter'', value, ...}');
  end
  lines = {};
  for i = 1:2:numel(settings)
    value = settings{i + 1};
    if ~ischar(value), value = jsonencode(value); end
    lines{end + 1} = [settings{i} '=' value];
  end
  report = jsondecode(call('run', pipeline, out, lines));
end
% SPDX-License-Identifier: Apache-2.0
