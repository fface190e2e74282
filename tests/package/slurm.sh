#!/usr/bin/env bash
# usage: slurm.sh BUILD WORK. Runs the program of BUILD under a real Slurm of two hosts, which are namespaces of this machine
# with names, network addresses and temporary folders of their own: a run by srun, in messages and by MPI; a rank that is
# killed; a job that is queued again; groups; the fleet of share/operations. WORK is a folder outside /tmp. As root, with Debian's
# slurm-wlm, munge and iproute2; says 'skipped: no ...' without one. Ends with a line `N passed, N failed`.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: slurm.sh BUILD WORK" >&2; exit 2; }
for needed in slurmctld slurmd srun munged ip unshare; do
  command -v $needed >/dev/null || { echo "skipped: no $needed"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: no rights of root"; exit 0; }
if [ -z "${TOFSTREAM_WITHIN:-}" ]; then  # what is started and mounted within goes with it
  export TOFSTREAM_WITHIN=1
  unshare --net --uts --mount true 2>/dev/null || { echo "skipped: no namespaces"; exit 0; }
  exec unshare --net --uts --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
source="$(cd "$(dirname "$0")/../.." && pwd)"
rm -rf "$2"
mkdir -p "$2"
build="$(cd "$1" && pwd)" work="$(cd "$2" && pwd)"
export PATH="$build/bin:$PATH" SLURM_CONF="$work/slurm.conf"
# The tests may themselves be ranks or steps.
unset ${!OMPI_@} ${!PMI_@} ${!PMIX_@} ${!SLURM_JOB@} ${!SLURM_STEP@} 2>/dev/null || true

# on_second COMMAND: within the host gpu2. gpu1 is where this script is.
on_second() {
  nsenter --net=/run/netns/gpu2 unshare --uts --mount bash -c \
    'hostname gpu2; mount -t tmpfs none /tmp; mount -t tmpfs none /dev/shm; exec "$@"' bash "$@"
}

start_slurm() {
  mount -t tmpfs none /run && mkdir /run/netns
  mount -t tmpfs none /tmp
  mount -t tmpfs none /dev/shm
  hostname gpu1
  ip netns add gpu2
  ip link add wire type veth peer name wire netns gpu2
  ip addr add 10.77.0.1/24 dev wire && ip link set wire up && ip link set lo up
  ip -n gpu2 addr add 10.77.0.2/24 dev wire && ip -n gpu2 link set wire up && ip -n gpu2 link set lo up
  printf '127.0.0.1 localhost\n10.77.0.1 gpu1\n10.77.0.2 gpu2\n' >"$work/hosts"
  mount --bind "$work/hosts" /etc/hosts
  head -c 128 /dev/urandom >"$work/munge.key"
  chmod 400 "$work/munge.key"
  munged --force --key-file="$work/munge.key" --socket=/run/munge.socket --pid-file=/run/munge.pid \
    --log-file="$work/munge.log" --seed-file="$work/munge.seed" 2>/dev/null
  mkdir "$work"/{state,spool-gpu1,spool-gpu2}
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=gpu1(10.77.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=2
StateSaveLocation=$work/state
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdLogFile=$work/slurmd-%n.log
SlurmdSpoolDir=$work/spool-%n
SlurmdParameters=config_overrides
NodeName=gpu1 NodeAddr=10.77.0.1 CPUs=2
NodeName=gpu2 NodeAddr=10.77.0.2 CPUs=2
PartitionName=all Nodes=gpu1,gpu2 Default=YES OverSubscribe=YES
CONF
  slurmctld -D >/dev/null 2>&1 &
  sleep 1
  slurmd -D >/dev/null 2>&1 &
  on_second slurmd -D >/dev/null 2>&1 &
  until_true 20 '[ "$(sinfo -h -t idle -o %D)" = 2 ]'
}

keyed=(--key keys/job.secret.yaml --server-key keys/job.public.yaml --allowed-keys keys/job.public.yaml)

# until_true SECONDS CONDITION
until_true() {
  local k
  for ((k = 0; k < 10 * $1; ++k)); do
    if eval "$2"; then return 0; fi
    sleep 0.1
  done
  echo "not within $1 s: $2" >&2
  return 1
}

# A run of some seconds, with a checkpoint after each update.
prepare() {
  cd "$work"
  tofstream simulate --scanner demo_ring --events 100000 -o scan.petsird
  tofstream keys new job -o keys
  for name in fleet person; do tofstream keys new $name -o keys; done
  mkdir people pipelines && cp keys/person.public.yaml people
  cat >pipelines/small.yaml <<YAML
include: $source/pipelines/listmode/listmode_osem.yaml
gadgets:
  subsets: {subsets: 4, iterations: 10}
  projected: {deterministic: true, sensitivity: {sampled_pairs: 50000}}
  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}
image: {voxel_mm: [6, 6, 6]}
YAML
  cat >pipelines/served.yaml <<YAML
include: $source/pipelines/live/served_osem.yaml
gadgets:
  subsets: {subsets: 4, iterations: 2}
  projected: {sensitivity: {sampled_pairs: 50000}}
image: {voxel_mm: [6, 6, 6]}
YAML
  tofstream run pipelines/small.yaml --input scan.petsird --ranks 2 --out threads --quiet
  cat >pipelines/frames.yaml <<YAML
include: $source/pipelines/listmode/dynamic_osem.yaml
gadgets:
  events: {batch_events: 1000}
  subsets: {frames: ["4x0.03"], subsets: 2, iterations: 2, least_events: 100}
  projected: {deterministic: true, sensitivity: {sampled_pairs: 50000}}
image: {voxel_mm: [6, 6, 6]}
YAML
  tofstream run pipelines/frames.yaml --input scan.petsird --out frames --quiet
}

has_bits_of_threads() {
  tofstream compare --json "$1/image.nii.gz" threads/image.nii.gz | grep -q '"max_abs": 0.0,'
}

ranks_by_srun() {
  srun -N2 -n2 tofstream run pipelines/small.yaml --input scan.petsird --out messages --quiet "${keyed[@]}"
  has_bits_of_threads messages
  grep -q '"rank_images": "messages"' messages/run.json
  grep -q '"gpu2: cpu"' messages/run.json
}

has_frames_of_one() {
  local k
  for k in 1 2 3 4; do cmp "$1/checkpoint_frame_000$k.tofc" frames/checkpoint_frame_000$k.tofc; done
  [ ! -e "$1/.groups" ]
}

groups_by_srun() {
  srun -N2 -n3 tofstream run pipelines/frames.yaml --input scan.petsird --groups 2 --out groups --quiet "${keyed[@]}"
  has_frames_of_one groups
  grep -q images_of_groups groups/run.json
  # Each host has a /tmp of its own.
  if srun -N2 -n3 tofstream run pipelines/frames.yaml --input scan.petsird --groups 2 --out /tmp/alone "${keyed[@]}" 2>alone.log
  then echo "the run did not fail" >&2; return 1; fi
  [ "$(grep -c 'group 2, on gpu2: it does not see the folder /tmp/alone' alone.log)" -eq 1 ]
  [ ! -e /tmp/alone ]
}

a_group_is_killed() {
  srun -N2 -n3 tofstream run pipelines/frames.yaml --input scan.petsird --groups 2 --out killed-groups "${keyed[@]}" \
    --set 'projected.fault={rank: 1, delay_at: 1, delay_ms: 60000}' 2>killed-groups.log &
  until_true 30 'compgen -G "killed-groups/.groups/*/claim_0002"'
  kill -9 "$(process_of_rank 2)"
  local begun=$SECONDS
  if wait $!; then echo "the run did not fail" >&2; return 1; fi
  [ $((SECONDS - begun)) -le 10 ]
  [ "$(grep -c 'group 2, on gpu2: nothing was heard of it' killed-groups.log)" -eq 1 ]
  [ ! -e killed-groups/image.nii.gz ] && [ ! -e killed-groups/.groups ]
  tofstream run pipelines/frames.yaml --input scan.petsird --groups 3 --out killed-groups --set resume_from=killed-groups --quiet
  has_frames_of_one killed-groups
}

images_by_mpi() {
  srun --mpi=pmix -N2 -n2 tofstream run pipelines/small.yaml --input scan.petsird --out mpi --quiet --rank-images mpi "${keyed[@]}"
  has_bits_of_threads mpi
  grep -q '"rank_images": "mpi"' mpi/run.json
}

servers_that_do_not_start() {
  TOFSTREAM_SERVE="--gpu all" sbatch --wait -o wrong.log --gpus-per-node=0 --cpus-per-task=1 \
    "$source/share/operations/slurm-fleet.sh" || true
  [ "$(grep -c "there is no option '--gpu'" wrong.log)" -ge 1 ]
  [ -z "$(pgrep -x tofstream)" ]
}

# The process of a rank: the tasks of a host are those that know its number.
process_of_rank() { grep -lz "^SLURM_PROCID=$1$" $(pgrep -x tofstream | sed 's,.*,/proc/&/environ,') 2>/dev/null | cut -d/ -f3; }

a_rank_is_killed() {
  srun -N2 -n2 tofstream run pipelines/small.yaml --input scan.petsird --out killed "${keyed[@]}" 2>killed.log &
  until_true 30 '[ -f killed/checkpoint.tofc ]'
  kill -9 "$(process_of_rank 1)"
  local begun=$SECONDS
  if wait $!; then echo "the run did not fail" >&2; return 1; fi
  [ $((SECONDS - begun)) -le 10 ]
  [ "$(grep -c 'rank 1, on gpu2.*nothing was heard of it' killed.log)" -eq 1 ]
  [ ! -e killed/image.nii.gz ]
  tofstream run pipelines/small.yaml --input scan.petsird --ranks 3 --out killed --set resume_from=killed --quiet
  has_bits_of_threads killed
}

a_job_goes_on() {
  sbatch -o job.log --gpus-per-task=0 --ntasks-per-node=1 "$source/share/operations/slurm-run.sh" pipelines/small.yaml --input scan.petsird
  until_true 30 'compgen -G "results-*/checkpoint.tofc"'
  kill -9 "$(process_of_rank 1)"
  until_true 60 'compgen -G "results-*/image.nii.gz"'
  until_true 10 '[ -z "$(squeue -h)" ]'
  has_bits_of_threads results-*
  grep -q 'goes on from update' job.log
}

all_are_halted() {
  srun -N2 -n2 tofstream run pipelines/small.yaml --input scan.petsird --out halted --quiet "${keyed[@]}" &
  until_true 30 '[ -f halted/checkpoint.tofc ]'
  scontrol suspend "$(squeue -h -o %i)"
  sleep 8  # longer than ranks are silent to one another
  scontrol resume "$(squeue -h -o %i)"
  wait $!
  has_bits_of_threads halted
}

a_fleet() {
  TOFSTREAM_SERVE="" sbatch -o fleet.log --gpus-per-node=0 --cpus-per-task=1 "$source/share/operations/slurm-fleet.sh"
  until_true 30 'grep -q "serving at" fleet.log'
  local k sending=()
  for k in 1 2; do
    on_second tofstream send tcp://gpu1:5557 --pipeline served --input scan.petsird --out sent-$k --quiet --patience 60 \
      --key keys/person.secret.yaml --server-key keys/fleet.public.yaml &
    sending+=($!)
  done
  for k in 1 2; do
    wait "${sending[k - 1]}"
    test -s sent-$k/image.nii.gz
  done
  [ "$(ls -d served-*/gpu?/session-1 | wc -l)" -eq 2 ]  # one run each
  scancel --batch --signal=TERM "$(squeue -h -o %i)"
  until_true 20 '[ -z "$(squeue -h)" ]'
  [ -z "$(pgrep -x tofstream)" ]
}

(set -x; start_slurm; prepare) >"$work/start.log" 2>&1 || { tail -n 15 "$work/start.log" >&2; echo "FAILED: no Slurm: $work/start.log" >&2; exit 1; }
passed=0 failed=0
tests=(ranks_by_srun groups_by_srun a_rank_is_killed a_group_is_killed a_job_goes_on all_are_halted a_fleet servers_that_do_not_start)
if [ -f "$build/lib/tofstream/libtofstream_mpi.so" ] && srun --mpi=list 2>&1 | grep -q pmix; then
  tests+=(images_by_mpi)
else
  echo "left out: images by MPI, which this build or this Slurm does not have"
fi
for test in "${tests[@]}"; do
  # A shell of its own: `set -e` holds in it, as it would not in the condition of an `if`.
  set +e
  (set -ex; cd "$work"; $test) >"$work/$test.log" 2>&1
  ended=$?
  set -e
  if [ $ended -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 15 "$work/$test.log" >&2
    echo "FAILED: $test: $work/$test.log" >&2
    scancel -u root
  fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
# SPDX-License-Identifier: Apache-2.0
