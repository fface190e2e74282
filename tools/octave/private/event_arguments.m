function [arguments, keeps] = event_arguments(events, name)
% What events are to the gateway, and their arrays, which it reads in place: hold these as long as it does.
  detectors = {'detector1', 'detector2'};
  floats = {'x1', 'y1', 'z1', 'x2', 'y2', 'z2', 'tof_mm', 'tof_width_mm'};
  numbers = {'tof_sigma_mm', 'tof_bin_mm'};
  require_struct(events, name, {}, [{'scanner'}, detectors, floats, numbers]);
  keeps = cell(1, 10);
  names = [detectors, floats];
  count = 0;
  for i = 1:numel(names)
    if isfield(events, names{i})
      keeps{i} = events.(names{i});
      if i > 2 && isa(keeps{i}, 'double') && isreal(keeps{i}) && ~issparse(keeps{i})
        keeps{i} = single(keeps{i});
      end
      count = max(count, numel(keeps{i}));
    end
  end
  scanner = '';
  if isfield(events, 'scanner'), scanner = events.scanner; end
  tof = {0, 0};
  for i = 1:2
    if isfield(events, numbers{i}), tof{i} = events.(numbers{i}); end
  end
  arguments = [{scanner, count}, keeps, tof];
end
% SPDX-License-Identifier: Apache-2.0
