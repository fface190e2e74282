"""The projectors that come with tofstream, as operators. Written by tools/python_projectors from what their gadgets
declare: cmake --build build/release --target pages.

A parameter that is None has its default, which its line has in brackets. One that there is not is a ValueError that says
which may be meant; type checkers refuse it too, as nothing is a NoReturn. `list_mode`, `camera` and `histo_images` take a
projector by its gadget's name, also one of a plug-in."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, NoReturn, Optional, Sequence, Union

from .data import Events, Lors
from .histo import HistoImages, histo_images
from .operators import Grid, Operator, camera, list_mode


def blobs(grid: Grid, events: Union[Events, Lors], *, mu: Any = None, mu_grid: Optional[Grid] = None,
          device: Optional[str] = None, precision: Literal["single", "double"] = "single",
          cuda_path: Optional[Literal["automatic", "direct", "tiled", "paper"]] = None,
          tof: Optional[bool] = None, tof_cut_sigma: Optional[float] = None,
          mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
          hardware_mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
          sensitivity: Optional[Mapping[str, Any]] = None, deterministic: Optional[bool] = None,
          **unknown: NoReturn) -> Operator:
    """Projects events along lines through an image of blobs (image.basis: blobs): forward, ratio and back in one pass
    (blob_projector).

    grid, events       an image's grid, and the events, whose order the data have, or the Lors of a sinogram
    mu, mu_grid        attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's), for sensitivity()
    device             'cpu' or 'cuda'; None: where the events' arrays lie
    precision          'double': by the definition in float64, slow, A and its transpose alone

    cuda_path          automatic | direct | tiled | paper (automatic): On CUDA: automatic chooses tiled for many
                       events, else direct; paper: the scheme of Cui et al. 2011, slower
    tof                (True): Use the events' time of flight, where they have it
    tof_cut_sigma      [1, 6] (3): Where the ToF Gaussian is cut
    mu_map             (none): NIfTI or Interfile (.hv) of attenuation (1/cm) on any grid; none: no attenuation.
                       event_corrections and the projector need the same one: put it at the pipeline's top
    hardware_mu_map    (none): The same of what stays with the scanner where rigid_motion or the bed moves the object:
                       a coil, a table. It adds to mu_map, and events are attenuated by it along the line that was
                       recorded. event_corrections and the projector need the same one
    sensitivity.exact_pairs [0, 1e+13] (none): Enumerate all pairs of detectors if there are at most this many, and
                       about so many evenly chosen ones of up to 61 times as many; absent: 2 billion on a GPU, 50
                       million on a CPU
    sensitivity.error  [0, 1] (0): Otherwise draw pairs until the relative error of a voxel is at most this; 0: 0.005
                       on a GPU, 0.02 on a CPU
    sensitivity.sampled_pairs [1000, 1.099511628e+12] (none): Draw at most this many pairs; absent: 2.1 billion on a
                       GPU, a billion on a CPU
    sensitivity.cache  (True): Keep sensitivity images in the user's cache folder
    deterministic      (False): The same events give the same image bit for bit, on a GPU and on any number of a CPU's
                       threads; this takes more time and memory (8 bytes a voxel on a GPU, up to 16 images on a CPU)
    """
    return list_mode("blob_projector", grid, events, mu=mu, mu_grid=mu_grid, device=device, precision=precision,
                     cuda_path=cuda_path, tof=tof, tof_cut_sigma=tof_cut_sigma, mu_map=mu_map,
                     hardware_mu_map=hardware_mu_map, sensitivity=sensitivity, deterministic=deterministic, **unknown)


def direct(grid: Grid, *, views: Sequence[int] = (40, 3), acceptance_deg: float = 10,
           lattice: Literal["view", "image"] = "view", device: str = "cpu",
           precision: Literal["single", "double"] = "single",
           operator: Optional[Literal["two_stage", "one_stage", "fft"]] = None,
           tof_fwhm_ps: Optional[float] = None,
           lor_fwhm_mm: Optional[Union[float, Sequence[Sequence[float]]]] = None,
           lor_fwhm_at_mm: Optional[Sequence[Sequence[float]]] = None,
           axial_fwhm_mm: Optional[float] = None, parts: Optional[Sequence[Mapping[str, Any]]] = None,
           lor_table: Optional[Union[str, "os.PathLike[str]"]] = None,
           deposit_kernel: Optional[bool] = None, cut_sigma: Optional[float] = None,
           fft_ends: Optional[Literal["padded", "periodic"]] = None,
           fft_spectrum: Optional[Literal["sampled", "analytic"]] = None,
           scheme: Optional[Literal["footprint", "paper"]] = None, **unknown: NoReturn) -> HistoImages:
    """Projects histo-images (DIRECT): the image convolved with each view's ToF, radial and axial kernel
    (direct_projector).

    grid               an image's grid, of voxels
    views              intervals of azimuth in [0, 180) degrees, and of the co-polar angle within the acceptance
    acceptance_deg     the most oblique lines
    lattice            'view': data are [view, z, s, t], t along the view; 'image': [view, z, y, x]
    device             'cpu' or 'cuda'
    precision          'double': by the definition in float64, slow, A and its transpose alone

    tof_fwhm_ps is needed. lor_fwhm_mm may also be [(radius_mm, fwhm_mm), ...]. Efficiencies and attenuation of the
    points' lines are `multiplicative` of em_step, sensitivity and osem: multiplicative() makes them of a scanner.

    operator           two_stage | one_stage | fft (two_stage): two_stage: resampled along the view, then convolved
                       along it; one_stage: a table of the kernel's points, for any kernel and lattice: image; fft:
                       one kernel for all voxels and lattice: image
    tof_fwhm_ps        [1, 100000], ps (none): Coincidence resolution along the view, in place of the events' own and
                       the width of their bins; the log warns where it differs from these by more than 3 %. None: that
                       of the events
    lor_fwhm_mm        [0.1, 1000], mm (5.8): Width of the kernel across the view; the papers have 5.8 for crystals of
                       4 mm
    lor_fwhm_at_mm     [0, 10000], mm ([]): Instead: [[radius, width], ...] for voxels so far from the axis, linear
                       between ascending radii
    axial_fwhm_mm      [0.1, 1000], mm (none): Width of the kernel along the axis; none: lor_fwhm_mm, or the first
                       width of the list
    parts.weight       [0, 1000000] (1): Its share of the kernel, over the sum of all weights
    parts.width        [0.01, 100] (1): Its width, in widths of the LOR
    parts.shift        [-100, 100] (0): How far its middle lies towards the axis, in sigmas of the LOR
    lor_table          (none): YAML of a kernel across the view by its values, for operators one_stage and fft:
                       offset_step_mm, radius_step_mm and rows: [{values: [..]}, ..] (tofstream docs direct)
    deposit_kernel     (False): The kernel has the deposit's blur too: a variance of 1/6 (linear) or 1/12 (nearest) of
                       the points' spacing squared along each axis
    cut_sigma          [1, 8] (4): Where kernels end; they keep their sum
    fft_ends           padded | periodic (padded): padded: beyond the image is nothing; periodic: what leaves it comes
                       in from the other side, as published
    fft_spectrum       sampled | analytic (sampled): sampled: the very kernel; analytic: as published, with ripples
    scheme             footprint | paper (footprint): Of two_stage. footprint: the resampling is the kernel across the
                       view; paper: as published, for comparison: a rotation, an elliptic Gaussian and a rotation
                       back, on lattice: image
    """
    return histo_images("direct_projector", grid, views=views, acceptance_deg=acceptance_deg, lattice=lattice,
                        device=device, precision=precision, operator=operator, tof_fwhm_ps=tof_fwhm_ps,
                        lor_fwhm_mm=lor_fwhm_mm, lor_fwhm_at_mm=lor_fwhm_at_mm, axial_fwhm_mm=axial_fwhm_mm,
                        parts=parts, lor_table=lor_table, deposit_kernel=deposit_kernel, cut_sigma=cut_sigma,
                        fft_ends=fft_ends, fft_spectrum=fft_spectrum, scheme=scheme, **unknown)


def joseph(grid: Grid, events: Union[Events, Lors], *, mu: Any = None, mu_grid: Optional[Grid] = None,
           device: Optional[str] = None, precision: Literal["single", "double"] = "single",
           edges: Optional[Literal["full", "clipped"]] = None, tof: Optional[bool] = None,
           tof_cut_sigma: Optional[float] = None, mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
           hardware_mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
           sensitivity: Optional[Mapping[str, Any]] = None, deterministic: Optional[bool] = None,
           **unknown: NoReturn) -> Operator:
    """Projects events along lines by Joseph's interpolation: forward, ratio and back in one pass (joseph_projector).

    grid, events       an image's grid, and the events, whose order the data have, or the Lors of a sinogram
    mu, mu_grid        attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's), for sensitivity()
    device             'cpu' or 'cuda'; None: where the events' arrays lie
    precision          'double': by the definition in float64, slow, A and its transpose alone

    edges              full | clipped (full): full: bilinear support up to the border; clipped: planes crossed outside
                       the side faces are dropped, as libparallelproj does
    tof                (True): Use the events' time of flight, where they have it
    tof_cut_sigma      [1, 6] (3): Where the ToF Gaussian is cut
    mu_map             (none): NIfTI or Interfile (.hv) of attenuation (1/cm) on any grid; none: no attenuation.
                       event_corrections and the projector need the same one: put it at the pipeline's top
    hardware_mu_map    (none): The same of what stays with the scanner where rigid_motion or the bed moves the object:
                       a coil, a table. It adds to mu_map, and events are attenuated by it along the line that was
                       recorded. event_corrections and the projector need the same one
    sensitivity.exact_pairs [0, 1e+13] (none): Enumerate all pairs of detectors if there are at most this many, and
                       about so many evenly chosen ones of up to 61 times as many; absent: 2 billion on a GPU, 50
                       million on a CPU
    sensitivity.error  [0, 1] (0): Otherwise draw pairs until the relative error of a voxel is at most this; 0: 0.005
                       on a GPU, 0.02 on a CPU
    sensitivity.sampled_pairs [1000, 1.099511628e+12] (none): Draw at most this many pairs; absent: 2.1 billion on a
                       GPU, a billion on a CPU
    sensitivity.cache  (True): Keep sensitivity images in the user's cache folder
    deterministic      (False): The same events give the same image bit for bit, on a GPU and on any number of a CPU's
                       threads; this takes more time and memory (8 bytes a voxel on a GPU, up to 16 images on a CPU)
    """
    return list_mode("joseph_projector", grid, events, mu=mu, mu_grid=mu_grid, device=device, precision=precision,
                     edges=edges, tof=tof, tof_cut_sigma=tof_cut_sigma, mu_map=mu_map, hardware_mu_map=hardware_mu_map,
                     sensitivity=sensitivity, deterministic=deterministic, **unknown)


def spect(grid: Grid, *, angles_deg: Any, radius_mm: Any, detector: Sequence[int],
          pixel_mm: Sequence[float], mu: Any = None, mu_grid: Optional[Grid] = None, device: str = "cpu",
          precision: Literal["single", "double"] = "single", scanner: Optional[str] = None,
          psf: Optional[Mapping[str, Any]] = None,
          psf_form: Optional[Literal["auto", "none", "separable", "incremental", "fft", "table"]] = None,
          rotation: Optional[Literal["auto", "interpolating", "conserving"]] = None,
          adjoint: Optional[Literal["exact", "paper"]] = None,
          mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
          support: Optional[Literal["cylinder", "box"]] = None, cps_per_MBq: Optional[float] = None,
          **unknown: NoReturn) -> Operator:
    """Projects views of a gamma camera: the image turned towards it, attenuated, convolved with the point spread of
    each depth, and summed (rotation_projector).

    grid               an image's grid
    angles_deg         of each view: 0 at the patient's back, 90 at the patient's left
    radius_mm          from the axis to the collimator's face: one for all, or one a view
    detector, pixel_mm pixels of a view and their edges along (u, w); data are [view, w, u]
    mu, mu_grid        attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's)
    device             'cpu' or 'cuda'
    precision          'double': by the definition in float64, slow, A and its transpose alone

    scanner            (none): A camera of share/scanners, or a YAML file: its collimator's point spread and its
                       sensitivity; none: neither
    psf.slope          [0, 1] (0): sigma of the collimator = slope x depth + sigma0_mm, mm a mm
    psf.sigma0_mm      [0, 100], mm (0): sigma of the collimator at its face
    psf.intrinsic_fwhm_mm [0, 100], mm (0): Resolution of the crystal, added in squares
    psf.table          (none): YAML of kernels at several depths, also asymmetric ones (share/doc/spect.md)
    psf_form           auto | none | separable | incremental | fft | table (auto): How it is applied. auto: separable
                       for Gaussians, table for a table; incremental: a Gaussian from plane to plane; fft: any; none:
                       no point spread
    rotation           auto | interpolating | conserving (auto): interpolating keeps flat images flat; conserving
                       keeps each voxel's counts, for voxels smaller than a pixel; auto: interpolating
    adjoint            exact | paper (exact): exact; paper: a second interpolation and the same kernel, which is none
    mu_map             (none): NIfTI of attenuation (1/cm) at the photons' energy, on any grid; none: no attenuation
    support            cylinder | box (cylinder): cylinder: the image is the cylinder in its grid, which all views
                       see; box: all of it
    cps_per_MBq        [1e-06, 1000000], 1/(s MBq) (none): Counts a second of 1 MBq in air; none: the camera's, or no
                       absolute scale
    """
    return camera("rotation_projector", grid, angles_deg=angles_deg, radius_mm=radius_mm, detector=detector,
                  pixel_mm=pixel_mm, mu=mu, mu_grid=mu_grid, device=device, precision=precision, scanner=scanner,
                  psf=psf, psf_form=psf_form, rotation=rotation, adjoint=adjoint, mu_map=mu_map, support=support,
                  cps_per_MBq=cps_per_MBq, **unknown)


def strips(grid: Grid, events: Union[Events, Lors], *, mu: Any = None, mu_grid: Optional[Grid] = None,
           device: Optional[str] = None, precision: Literal["single", "double"] = "single",
           form: Optional[Literal["full", "eq7", "gaussian"]] = None,
           resolution: Optional[Mapping[str, Any]] = None, sensitivity: Optional[bool] = None,
           cuda_path: Optional[Literal["automatic", "thread_per_event", "warp_per_event"]] = None,
           **unknown: NoReturn) -> Operator:
    """Projects two strips' events by an analytic kernel: forward, ratio and back in one pass (strip_projector).

    grid, events       an image's grid, and the events, whose order the data have, or the Lors of a sinogram
    mu, mu_grid        attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's), for sensitivity()
    device             'cpu' or 'cuda'; None: where the events' arrays lie
    precision          'double': by the definition in float64, slow, A and its transpose alone

    form               full | eq7 | gaussian (full): The kernel's form. full: knows that both photons hit the strips;
                       eq7: the published formula; gaussian: its fastest approximation, too low far from the centre
    resolution.sigma_z_mm [0.001, 1000], mm (10): Standard deviation (not FWHM) along a strip, at its centre
    resolution.sigma_dl_mm [0.001, 1000], mm (40): Standard deviation of the difference of paths: twice that of the
                       position along the line
    resolution.sigma_z_edge_rise [0, 10] (0): Relative increase of sigma_z towards a strip's end; 0.1 was measured
    resolution.gamma_per_mm2 [-1, 1], 1/mm^2 (0): Coupling of dl and z in the inverse covariance (Bialas et al. 2015,
                       eq. 12)
    sensitivity        (True): Divide by the strips' sensitivity, so that the image is the activity; false: Bialas et
                       al. 2015, eq. 5, whose image holds the activity times the sensitivity
    cuda_path          automatic | thread_per_event | warp_per_event (automatic): On CUDA: automatic is the fastest,
                       the others are the paper's two
    """
    return list_mode("strip_projector", grid, events, mu=mu, mu_grid=mu_grid, device=device, precision=precision,
                     form=form, resolution=resolution, sensitivity=sensitivity, cuda_path=cuda_path, **unknown)


def tor(grid: Grid, events: Union[Events, Lors], *, mu: Any = None, mu_grid: Optional[Grid] = None,
        device: Optional[str] = None, precision: Literal["single", "double"] = "single",
        tube_width_voxels: Optional[float] = None,
        response: Optional[Literal["gaussian", "bessel", "table"]] = None, fwhm_mm: Optional[float] = None,
        bessel_alpha: Optional[float] = None, table: Optional[Sequence[float]] = None,
        normalise: Optional[Literal["automatic", "none", "slice"]] = None,
        cuda_path: Optional[Literal["automatic", "direct", "tiled", "paper"]] = None,
        tof: Optional[bool] = None, tof_cut_sigma: Optional[float] = None,
        mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
        hardware_mu_map: Optional[Union[str, "os.PathLike[str]"]] = None,
        sensitivity: Optional[Mapping[str, Any]] = None, deterministic: Optional[bool] = None,
        **unknown: NoReturn) -> Operator:
    """Projects events along tubes of response: forward, ratio and back in one pass (tor_projector).

    grid, events       an image's grid, and the events, whose order the data have, or the Lors of a sinogram
    mu, mu_grid        attenuation in 1/cm [z, y, x], NumPy, and its grid (None: the image's), for sensitivity()
    device             'cpu' or 'cuda'; None: where the events' arrays lie
    precision          'double': by the definition in float64, slow, A and its transpose alone

    tube_width_voxels  [0, 64] (0): Diameter of the tube in units of the largest voxel edge, at least 1; 0: as wide as
                       the response needs
    response           gaussian | bessel | table (gaussian): Radial response: gaussian, bessel (Kaiser-Bessel blob) or
                       table
    fwhm_mm            [0, 1000], mm (0): FWHM of the Gaussian; 0: 0.43 of the tube's diameter if that is given, else
                       half the width of the scanner's crystals, but at least 0.61 voxels
    bessel_alpha       [0, 100] (6): Shape of the Kaiser-Bessel blob; larger is narrower, and a tube of 3 voxels needs
                       6 or less
    table              [0, 1e+30] ([]): Any response, at equal steps from the tube's axis to its wall
    normalise          automatic | none | slice (automatic): slice: the weights of each slice add up to the line's
                       length in it, so that narrow tubes are right along the axes too; automatic: slice for tubes
                       narrower than 3 voxels, unless cuda_path is paper
    cuda_path          automatic | direct | tiled | paper (automatic): On CUDA: automatic chooses tiled for many
                       events, else direct; paper: the scheme of Cui et al. 2011, slower
    tof                (True): Use the events' time of flight, where they have it
    tof_cut_sigma      [1, 6] (3): Where the ToF Gaussian is cut
    mu_map             (none): NIfTI or Interfile (.hv) of attenuation (1/cm) on any grid; none: no attenuation.
                       event_corrections and the projector need the same one: put it at the pipeline's top
    hardware_mu_map    (none): The same of what stays with the scanner where rigid_motion or the bed moves the object:
                       a coil, a table. It adds to mu_map, and events are attenuated by it along the line that was
                       recorded. event_corrections and the projector need the same one
    sensitivity.exact_pairs [0, 1e+13] (none): Enumerate all pairs of detectors if there are at most this many, and
                       about so many evenly chosen ones of up to 61 times as many; absent: 2 billion on a GPU, 50
                       million on a CPU
    sensitivity.error  [0, 1] (0): Otherwise draw pairs until the relative error of a voxel is at most this; 0: 0.005
                       on a GPU, 0.02 on a CPU
    sensitivity.sampled_pairs [1000, 1.099511628e+12] (none): Draw at most this many pairs; absent: 2.1 billion on a
                       GPU, a billion on a CPU
    sensitivity.cache  (True): Keep sensitivity images in the user's cache folder
    deterministic      (False): The same events give the same image bit for bit, on a GPU and on any number of a CPU's
                       threads; this takes more time and memory (8 bytes a voxel on a GPU, up to 16 images on a CPU)
    """
    return list_mode("tor_projector", grid, events, mu=mu, mu_grid=mu_grid, device=device, precision=precision,
                     tube_width_voxels=tube_width_voxels, response=response, fwhm_mm=fwhm_mm, bessel_alpha=bessel_alpha,
                     table=table, normalise=normalise, cuda_path=cuda_path, tof=tof, tof_cut_sigma=tof_cut_sigma,
                     mu_map=mu_map, hardware_mu_map=hardware_mu_map, sensitivity=sensitivity,
                     deterministic=deterministic, **unknown)
# SPDX-License-Identifier: Apache-2.0
