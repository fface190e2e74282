function D = tof_direct(grid, directions, parameters, precision)
% TOF_DIRECT  Histo-images (DIRECT): the image convolved with each view's kernel of time of flight and width.
%
%   D = tof_direct(grid, directions, parameters) is an operator (help tof_operator) from images (x, y, z) to
%   histo-images (t, s, z, view), t along the view, or (x, y, z, view). The grid is that of tof_spect.
%
%   directions.views           [azimuths, tilts]: intervals of azimuth in [0, 180) degrees and of the co-polar angle
%                              within the acceptance; [40 3] where it is left out
%   directions.acceptance_deg  the most oblique lines; 10 where it is left out
%   directions.lattice         'view': points along each view; 'image': the image's voxels
%   parameters                 of direct_projector: tof_fwhm_ps is needed, lor_fwhm_mm is 5.8 where it is left out ...
%                              (tofstream gadgets direct_projector)
%   precision                  'double': by the definition in double precision (help tof_operator)
%
%   [h, what] = deposit(D, events)
%       the histo-images of these events (help tof_list_mode), each shared out to the points about its most likely
%       place, or whole to the nearest one with 'nearest', true; and what became of the events
%   [m, lines] = multiplicative(D, scanner, 'mu', mu)
%       how well each point is seen by this scanner (of share/scanners, or a YAML file): efficiency times attenuation of
%       the lines that belong to its view. mu(x, y, z) in 1/cm on the image's grid, or on 'mu_grid'. More lines than
%       'most_lines', 50e6, are sampled. With it an image is in Bq/mL times the scan's seconds.
%   b = additive(D, scanner, seconds, 'rate_cps', r)
%       the randoms that are expected at each point in these seconds, in counts: r per second of all lines together, or
%       by a fit to the scan's delayed coincidences with 'delayeds', events (detector1, detector2). 'window_mm': all ToF
%       that a coincidence may have; the scanner's where it is left out.
%
%   x = tof_osem(D, h, 'subsets', 10, 'updates', 30, 'multiplicative', m, 'additive', b);
  if nargin < 4, precision = 'single'; end
  require_struct(directions, 'directions', {}, {'views', 'acceptance_deg', 'lattice'});
  require_struct(parameters, 'parameters', {}, 'any');
  pairs = [fieldnames(directions)'; struct2cell(directions)'];
  given = settings_of(struct('views', [40 3], 'acceptance_deg', 10, 'lattice', 'view'), pairs(:)');
  over_grid = grid_arguments(grid, 'grid');
  D = tof_operator(call('directions', 'direct_projector', as_yaml(parameters), over_grid{:}, given.views, ...
                        given.acceptance_deg, given.lattice, precision), {}, grid);
end
% SPDX-License-Identifier: Apache-2.0
