% Operators from Octave: run by tests/c/octave.cpp. Ends with 'all passed', or at the first check that fails.
1;

function refused(identifier, said, call)
  try
    call();
  catch problem
    assert(problem.identifier, identifier, problem.message);
    assert(~isempty(strfind(problem.message, said)), problem.message);
    assert(~any(problem.message == "\n"), problem.message);
    return
  end
  error('no error that says ''%s''', said);
end

function grid = small_grid()
  grid = struct('size', [12 10 8], 'voxel_mm', [8 9 10]);
end

function camera = a_camera(varargin)
  camera = struct('angles_deg', 30 * (0:11), 'radius_mm', 120, 'detector', [14 9], 'pixel_mm', [7 8], ...
                  'psf', struct('slope', 0.02, 'sigma0_mm', 2), varargin{:});
end

function A = a_turn(varargin)
  A = tof_spect(small_grid(), a_camera(varargin{:}));
end

function events = some_lines(has_tof)
  count = 400;
  for end_point = 1:2
    angle = 2 * pi * rand(count, 1);
    ends = {200 * cos(angle), 200 * sin(angle), 60 * rand(count, 1) - 30};
    for axis = 1:3
      events.(sprintf('%s%d', 'xyz'(axis), end_point)) = single(ends{axis});
    end
  end
  if has_tof
    events.tof_mm = single(120 * rand(count, 1) - 60);
    events.tof_sigma_mm = 30;
    events.tof_bin_mm = 20;
  end
end

function sum_of = dot_of(a, b)
  sum_of = sum(double(a(:)) .* double(b(:)));
end

function kilobytes = memory_in_use()
  found = regexp(fileread('/proc/self/status'), 'VmRSS:\s*(\d+)', 'tokens', 'once');
  kilobytes = str2double(found{1});
end

function adjointness()
  grid = small_grid();
  mu = 0.1 * ones(grid.size, 'single');
  kernels = rand(3, 5, 4);
  table = struct('kernels', kernels, 'depth_mm', [20 80 140 200]);
  tubes = struct('tube_width_voxels', 3, 'fwhm_mm', 8);
  all_of = {a_turn(), a_turn('mu', mu), a_turn('rotation', 'conserving'), a_turn('psf', table), ...
            tof_joseph(grid, some_lines(true)), tof_joseph(grid, some_lines(false)), ...
            tof_tor(grid, some_lines(true), tubes), plan(tof_joseph(grid, some_lines(true)))};
  for i = 1:numel(all_of)
    A = all_of{i};
    x = rand(A.in_size, 'single');
    y = rand(A.out_size, 'single');
    assert(dot_of(A * x, y) / dot_of(x, A' * y), 1, 1e-5);
    assert(class(A * x), 'single');
    assert(A * double(x), A * x);
    assert(A.' * y, A' * y);
    transposed = A';
    assert(transposed.in_size, A.out_size);
    assert(transposed' * x, A * x);
    assert(size(A), [prod(A.out_size), prod(A.in_size)]);
    assert(size(A', 1), prod(A.in_size));
  end
end

function likelihood()
  A = a_turn();
  counts = 50 * (A * rand(A.in_size, 'single'));
  x = 20 * ones(A.in_size, 'single');
  s = sensitivity(A);
  assert(s, A' * ones(A.out_size, 'single'), 1e-4);
  weights = 2 * ones(A.out_size, 'single');
  assert(sensitivity(A, weights), 2 * s, 1e-4);
  step = em_step(A, x, counts);
  assert(step, A' * tof_ratio(counts, A * x), -1e-4);
  assert(gradient(A, x, counts), step - s);
  background = ones(A.out_size, 'single');
  assert(em_step(A, x, counts, background), A' * tof_ratio(counts, A * x + background), -1e-4);
  assert(em_step(A, x, counts, [], weights), em_step(A, x, counts), -1e-4);
  J = tof_joseph(small_grid(), some_lines(true));
  [step, rejected] = em_step(J, x, [], ones(J.out_size, 'single'));
  assert(step, J' * (1 ./ (J * x + 1)), -1e-4);
  assert(rejected, 0);
end

function subsets()
  A = a_turn();
  parts = split(A, 4);
  assert(indices(parts{2}), [2; 6; 10]);
  x = rand(A.in_size, 'single');
  counts = A * x;
  for k = 1:4
    assert(parts{k} * x, counts(:, :, indices(parts{k})));
  end
  mlem = ones(A.in_size, 'single');
  s = sensitivity(A);
  for k = 1:3
    mlem = mlem .* (tof_ratio(em_step(A, mlem, counts), s) .* (s > 0) + (s <= 0));
  end
  assert(tof_osem(A, counts, 'updates', 3), mlem);
  clear A
  assert(size(parts{1} * x), parts{1}.out_size);  % parts outlive the whole
  events = some_lines(true);
  J = tof_joseph(small_grid(), events);
  halves = split(J, 2);
  wanted = J * x;
  events.tof_mm(:) = 0;  % the operator keeps what it was given
  clear J
  assert([halves{1} * x; halves{2} * x], wanted);
  one = struct('x1', -200, 'y1', 3, 'z1', 1, 'x2', single(200), 'y2', single(3), 'z2', single(1));
  single_event = tof_joseph(small_grid(), one);
  wanted = single_event * x;
  clear one
  junk = rand(100);  % where the event may have lain
  assert(single_event * x, wanted);
  assert(wanted > 0);
end

function doubles_become_single()
  events = some_lines(true);
  x = rand(12, 10, 8, 'single');
  wanted = tof_joseph(small_grid(), events) * x;
  names = fieldnames(events);
  for i = 1:numel(names)
    events.(names{i}) = double(events.(names{i}));
  end
  assert(tof_joseph(small_grid(), events) * x, wanted);
end

function wrong_arrays()
  A = a_turn();
  x = ones(A.in_size, 'single');
  y = ones(A.out_size, 'single');
  refused('tofstream:invalid', 'image is 12 x 10 x 7, and must be 12 x 10 x 8', @() A * x(:, :, 1:7));
  refused('tofstream:invalid', 'data is 12 x 10 x 8, and must be 14 x 9 x 12', @() A' * x);
  refused('tofstream:invalid', 'image is int16, and must be full, real and single', @() A * int16(x));
  refused('tofstream:invalid', 'image is logical, and must be', @() A * true(A.in_size));
  refused('tofstream:invalid', 'image is complex, and must be', @() A * complex(x, x));
  refused('tofstream:invalid', 'image is sparse, and must be', @() A * sparse(ones(12, 80)));
  refused('tofstream:invalid', 'image is cell', @() A * {1});
  refused('tofstream:invalid', 'A * x, or A'' * y', @() x * A);
  refused('tofstream:invalid', 'A * x, or A'' * y', @() A * A);
  refused('tofstream:invalid', 'counts is 12 x 10 x 8', @() em_step(A, x, x));
  refused('tofstream:invalid', 'counts is null', @() em_step(A, x));
  refused('tofstream:invalid', 'em_step is of A', @() em_step(A', y, x));
  refused('tofstream:invalid', 'parts is 13', @() split(A, 13));
  refused('tofstream:invalid', 'number of parts is 1.5', @() split(A, 1.5));
  J = tof_joseph(small_grid(), some_lines(true));
  refused('tofstream:invalid', 'events.scanner is null', @() sensitivity(J));
  assert(any(isnan((A * (x * NaN))(:))));  % NaN is the library's affair: it goes through
end

function wrong_makings()
  grid = small_grid();
  refused('tofstream:invalid', 'did you mean ''psf_form''?', @() a_turn('psf_from', 'none'));
  refused('tofstream:invalid', 'camera.radius_mm is missing', @() tof_spect(grid, rmfield(a_camera(), 'radius_mm')));
  refused('tofstream:invalid', 'camera is 1 x 1 double', @() tof_spect(grid, 3));
  with = @(name, value) tof_spect(setfield(grid, name, value), a_camera());
  refused('tofstream:invalid', 'grid.voxels_mm is not known', @() with('voxels_mm', 3));
  refused('tofstream:invalid', 'grid.size is 2.5', @() with('size', [2.5 2 2]));
  refused('tofstream:invalid', 'grid.size has 2 numbers', @() with('size', [2 2]));
  refused('tofstream:invalid', 'camera.mu is 3 x 3', @() a_turn('mu', ones(3)));
  refused('tofstream:invalid', 'camera.radius_mm has 2 numbers, and must have 12', @() a_turn('radius_mm', [120 130]));
  kernels = @(values, depth_mm) a_turn('psf', struct('kernels', values, 'depth_mm', depth_mm));
  refused('tofstream:invalid', 'kernels are 2 x 3, and must have odd', @() kernels(ones(2, 3), 20));
  refused('tofstream:invalid', 'of the 2 depths', @() kernels(ones(3), [20 30]));
  refused('tofstream:invalid', 'depth_mm is [30 20], and must ascend', @() kernels(ones(3, 3, 2), [30 20]));
  refused('tofstream:invalid', 'kernel 2 must be finite', @() kernels(cat(3, ones(3), -ones(3)), [20 30]));
  refused('tofstream:invalid', 'camera.angles_deg is empty', @() a_turn('angles_deg', []));
  events = some_lines(true);
  sharp = setfield(events, 'tof_sigma_mm', 'x');
  refused('tofstream:invalid', 'events.tof_sigma_mm is char', @() tof_joseph(grid, sharp));
  bad = events;
  bad.x1(8) = NaN;
  refused('tofstream:invalid', 'events.x1[7] is nan', @() tof_joseph(grid, bad));
  short = setfield(events, 'y2', events.y2(1:399));
  refused('tofstream:invalid', 'events.y2 has 399 numbers', @() tof_joseph(grid, short));
  refused('tofstream:invalid', 'events.additive is not known', @() tof_joseph(grid, setfield(events, 'additive', 1)));
  refused('tofstream:invalid', 'did you mean', @() tof_tor(grid, events, struct('tube_width_voxel', 3)));
  pairs = struct('scanner', 'demo_ring', 'detector1', 1:3, 'detector2', 1:3);
  refused('tofstream:invalid', 'events.detector1 is double, and must be', @() tof_joseph(grid, pairs));
  pairs.detector1 = uint32([1 2 1000000]);
  pairs.detector2 = uint32([3 4 5]);
  refused('tofstream:invalid', 'events.detector1[2] is 1000000', @() tof_joseph(grid, pairs));
  refused('tofstream:invalid', 'events.count is 0', @() tof_joseph(grid, struct('scanner', 'demo_ring')));
  refused('tofstream:invalid', 'joseph_projector', @() tof_list_mode('joseph_projecter', grid, events));
  refused('tofstream:dropped', 'this operator was dropped', @() tof_operator(uint64(5), {}));
  refused('tofstream:invalid', 'subset is not known', @() tof_osem(a_turn(), ones(14, 9, 12), 'subset', 2));
  refused('tofstream:invalid', 'counts is 3 x 3', @() tof_osem(a_turn(), ones(3)));
end

function warnings_are_heard()
  warning('on', 'tofstream:log', 'local');
  lastwarn('', '');
  A = tof_spect(small_grid(), rmfield(a_camera(), 'psf'));
  [line, identifier] = lastwarn();
  assert(identifier, 'tofstream:log');
  assert(strncmp(line, 'rotation_projector: no point spread', 35), line);
  assert(A.report.point_spread, 'none');
end

function the_paper()
  n = 6;
  x = zeros(n, n, 3, 'single');
  x(2, 5, 2) = 7;  % in the plane y = 5, the second from a camera at angle 0
  views = et_project(x, [0; pi / 2; pi]);
  assert(size(views), [n 3 3]);
  assert(views(n + 1 - 2, 2, 1), single(7), -1e-6);  % u towards -x
  assert(views(5, 2, 2), single(7), -1e-6);          % u towards +y
  assert(views(2, 2, 3), single(7), -1e-6);
  assert(sum(views(:)), single(21), -1e-6);
  mu = zeros(n, n, 3);
  mu(2, :, 2) = 0.2;  % a voxel before it, and half of its own
  assert(et_project(x, 0, mu)(5, 2), single(7 * exp(-0.3)), -1e-5);
  psf = zeros(3, 1, n);
  psf(2, 1, :) = 1;
  psf(:, 1, 2) = [0.25 0.5 0.125];
  seen = et_project(x, 0, 0, psf);
  assert(seen(:, 2), single([0 0 0 7 / 4 7 / 2 7 / 8])', 1e-6);
  y = rand(n, 3, 3, 'single');
  psf = rand(3, 5, n);
  assert(dot_of(et_project(x, [0.1; 1; 2], mu, psf), y) / dot_of(x, et_backproject(y, [0.1; 1; 2], mu, psf)), 1, 1e-5);
  assert(et_project(x, [0 0 0.1; 0 0 1], mu, psf), et_project(x, [0.1; 1], mu, psf));
  refused('tofstream:invalid', 'cameras are 1 x 4, and must be a column', @() et_project(x, [0 1 2 3]));
  refused('tofstream:invalid', 'turn about x or y in row 2', @() et_project(x, [0 0 0; 0 1 0]));
  refused('tofstream:invalid', 'a kernel for each of the 6 planes', @() et_project(x, 0, 0, ones(3, 3, 5)));
  refused('tofstream:invalid', 'psf is the argument after it', @() et_project(x, 0, ones(3, 3, 6)));
  refused('tofstream:invalid', 'background is 1', @() et_project(x, 0, 0, 0, 0, 1));
  refused('tofstream:invalid', 'as wide along y as along x', @() et_project(ones(3, 4, 5), 0));
  warning('on', 'tofstream:gpu', 'local');
  lastwarn('', '');
  et_project(x, 0, 0, 0, 1);
  [~, identifier] = lastwarn();
  assert(identifier, 'tofstream:gpu');
end

function forks()
  A = a_turn();
  x = ones(A.in_size, 'single');
  heard = tempname();
  child = fork();
  if child == 0
    try
      A * x;
    catch problem
      out = fopen(heard, 'w');
      fprintf(out, '%s', problem.message);
      fclose(out);
    end
    kill(getpid(), 9);
  end
  waitpid(child);
  remove_heard = onCleanup(@() delete(heard));
  assert(fileread(heard), 'this operator was made before the process forked: make it anew in the child');
end

function whole_runs()
  folder = tempname();
  mkdir(folder);
  remove_folder = onCleanup(@() confirm_and_remove(folder));
  pipeline = [folder '/small.yaml'];
  out = fopen(pipeline, 'w');
  fprintf(out, ['gadgets:\n' ...
                '  photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: 1000}\n' ...
                '  end: {use: null_sink, from: photons}\n']);
  fclose(out);
  report = tof_run(pipeline, [folder '/out'], {'photons.events', 500});
  assert(report.books.received, 500);
  assert(report.outcome, 'done');
  again = @(settings) tof_run(pipeline, [folder '/other'], settings);
  refused('tofstream:invalid', 'did you mean', @() again({'photons.event', 5}));
  refused('tofstream:invalid', 'pairs of a name and a value', @() again({'photons.events'}));
  refused('tofstream:file', 'no_such', @() tof_run('no_such', [folder '/none']));
  assert(~isempty(dir([folder '/out/run.json'])));
end

function confirm_and_remove(folder)
  confirm_recursive_rmdir(false, 'local');
  rmdir(folder, 's');
end

function count = operators_alive()
  [~, ~, ~, ~, count] = tofstream_mex('version');
end

function in_double()
  grid = small_grid();
  tubes = struct('tube_width_voxels', 3, 'fwhm_mm', 8);
  events = some_lines(true);
  histo = {struct('views', [4 1], 'acceptance_deg', 30), struct('tof_fwhm_ps', 300, 'lor_fwhm_mm', 10)};
  square = struct('size', [10 10 6], 'voxel_mm', [8 8 8]);
  pairs_of = {{tof_spect(grid, a_camera(), 'double'), a_turn()}, ...
              {tof_joseph(grid, events, struct(), 'double'), tof_joseph(grid, events)}, ...
              {tof_tor(grid, events, tubes, 'double'), tof_tor(grid, events, tubes)}, ...
              {tof_direct(square, histo{:}, 'double'), tof_direct(square, histo{:})}};
  for i = 1:numel(pairs_of)
    [D, A] = pairs_of{i}{:};
    assert(D.precision, 'double');
    assert(A.precision, 'single');
    x = rand(D.in_size);
    y = rand(D.out_size);
    exact = D * x;
    assert(class(exact), 'double');
    assert(dot_of(exact, y) / dot_of(x, D' * y), 1, 1e-12);
    near = A * x;
    assert(norm(near(:) - exact(:)) < 0.05 * norm(exact(:)));  % DIRECT's two stages approximate the kernel
    assert(D * single(x), D * double(single(x)));
    refused('tofstream:invalid', 'em_step is of operators in single precision', @() em_step(D, x, y));
    refused('tofstream:invalid', 'sensitivity is of operators in single precision', @() sensitivity(D));
    refused('tofstream:invalid', 'image is int8, and must be full, real and double', @() D * int8(x));
    halves = split(D, 2);
    assert(halves{1}.precision, 'double');
  end
  refused('tofstream:invalid', 'precision is ''half''', @() tof_spect(grid, a_camera(), 'half'));
end

function histo_images()
  grid = struct('size', [16 16 6], 'voxel_mm', [8 8 8]);
  directions = struct('views', [6 1], 'acceptance_deg', 60);
  D = tof_direct(grid, directions, struct('tof_fwhm_ps', 300, 'lor_fwhm_mm', 10));
  assert(D.out_size, [16 16 6 6]);
  x = rand(D.in_size, 'single');
  y = rand(D.out_size, 'single');
  assert(dot_of(D * x, y) / dot_of(x, D' * y), 1, 1e-5);
  [h, what] = deposit(D, some_lines(true));
  assert(what.deposited + what.beyond_acceptance + what.outside + what.no_line, 400);
  assert(sum(double(h(:))), what.deposited, 1e-3);
  whole = deposit(D, some_lines(true), 'nearest', true);
  assert(whole, round(whole));
  few = {'most_lines', 50000};
  [m, lines] = multiplicative(D, 'demo_ring', few{:});
  assert(size(m), D.out_size);
  assert(lines.accepted <= lines.drawn && lines.drawn < lines.all && lines.accepted > 0);
  water = struct('size', [1 1 1], 'voxel_mm', [200 200 200]);
  less = multiplicative(D, 'demo_ring', 'mu', 0.096, 'mu_grid', water, few{:});
  assert(sum(less(:)) < 0.6 * sum(m(:)));
  b = additive(D, 'demo_ring', 10, 'rate_cps', 500, 'window_mm', 900, few{:});
  assert(size(b), D.out_size);
  assert(additive(D, 'demo_ring', 20, 'rate_cps', 250, 'window_mm', 900, few{:}), b, -1e-4);
  delayeds = struct('detector1', uint32(floor(6144 * rand(5000, 1))), 'detector2', uint32(floor(6144 * rand(5000, 1))));
  fitted = additive(D, 'demo_ring', 10, 'delayeds', delayeds, 'window_mm', 900, few{:});
  assert(sum(fitted(:)) / sum(b(:)), 1, 0.1);
  truth = zeros(D.in_size, 'single');
  truth(5:12, 5:12, 2:5) = 1;
  b = b * (sum((m .* (D * truth))(:)) / sum(b(:)));
  counts = m .* (D * truth) + b;
  found = tof_osem(D, counts, 'subsets', 3, 'updates', 30, 'multiplicative', m, 'additive', b);
  again = m .* (D * found) + b;
  assert(norm(double(again(:) - counts(:))) < 0.1 * norm(double(counts(:))));
  refused('tofstream:invalid', 'seconds is -1', @() additive(D, 'demo_ring', -1, 'rate_cps', 5));
  refused('tofstream:invalid', 'give one of them', @() additive(D, 'demo_ring', 1));
  refused('tofstream:invalid', 'rate is not known: settings are delayeds, rate_cps', ...
          @() additive(D, 'demo_ring', 1, 'rate', 5));
  refused('tofstream:invalid', 'multiplicative is of histo-images', @() multiplicative(a_turn(), 'demo_ring'));
  refused('tofstream:invalid', 'op has no histo-images', @() deposit(a_turn(), some_lines(true)));
  halves = split(D, 2);
  refused('tofstream:invalid', 'take no part of it', @() multiplicative(halves{1}, 'demo_ring'));
  refused('tofstream:invalid', 'lattice is ''polar''', ...
          @() tof_direct(grid, struct('lattice', 'polar'), struct('tof_fwhm_ps', 300)));
  refused('tofstream:invalid', 'directions.azimuths is not known', @() tof_direct(grid, struct('azimuths', 3), struct()));
  refused('tofstream:invalid', 'tof_fwhm_ps', @() tof_direct(grid, directions, struct()));
  refused('tofstream:invalid', 'multiplicative is 16 x 16', ...
          @() tof_osem(D, counts, 'multiplicative', ones(16, 16, 'single')));
end

function many_operators()
  before = operators_alive();
  A = a_turn();
  B = A';
  clear A
  assert(operators_alive(), before + 1);
  clear B
  assert(operators_alive(), before);
  grid = struct('size', [4 4 4], 'voxel_mm', [8 8 8]);
  camera = struct('angles_deg', [0 90], 'radius_mm', 100, 'detector', [4 4], 'pixel_mm', [8 8], 'psf_form', 'none');
  for i = 1:1200
    if i == 200, kilobytes = memory_in_use(); end
    A = tof_spect(grid, camera);
  end
  clear A
  assert(operators_alive(), before);
  assert(memory_in_use() - kilobytes < 10000, 'operators leave memory behind');
end

warning('off', 'all');
rand('twister', 1);
checks = {@adjointness, @likelihood, @subsets, @doubles_become_single, @wrong_arrays, @wrong_makings, ...
          @warnings_are_heard, @the_paper, @forks, @in_double, @histo_images, @whole_runs, @many_operators};
for i = 1:numel(checks)
  checks{i}();
end
A = a_turn();
B = {A', split(A, 2)};
clear all
[~, ~, ~, ~, left] = tofstream_mex('version');
assert(left, 0);
disp('all passed');
% SPDX-License-Identifier: Apache-2.0
