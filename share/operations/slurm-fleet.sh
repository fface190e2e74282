#!/bin/bash
# A fleet of tofstream's servers as a job of Slurm's: a server on each node, which uses all of its GPUs, and a dispatcher
# on the first node, to which clients connect at port 5557.
#   tofstream keys new fleet -o keys && tofstream keys new person -o keys     # and keys of further people
#   mkdir people && cp keys/person.public.yaml people
#   sbatch share/operations/slurm-fleet.sh
# See tofstream docs fleet.
#SBATCH --job-name=tofstream-fleet --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=32
#SBATCH --time=08:00:00 --signal=B:TERM@90
set -u
port=${TOFSTREAM_PORT:-5557} server_port=${TOFSTREAM_SERVER_PORT:-5558} keys=${TOFSTREAM_KEYS:-keys}
servers=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s|.*|tcp://&:$server_port|" | paste -sd,)

export out=${TOFSTREAM_OUT:-served-${SLURM_JOB_ID:-0}}  # in which each server has a folder of its own
srun --kill-on-bad-exit=0 bash -c 'exec tofstream serve --out "$out/$SLURMD_NODENAME" "$@"' serve \
    "tcp://*:$server_port" ${TOFSTREAM_SERVE---gpus all} --drain-s 30 --pipelines "${TOFSTREAM_PIPELINES:-pipelines}" \
    --key "$keys/fleet.secret.yaml" --allowed-keys "$keys/fleet.public.yaml" &
step=$!
tofstream dispatch "tcp://*:$port" --servers "$servers" --wait 120 \
    --key "$keys/fleet.secret.yaml" --server-key "$keys/fleet.public.yaml" --allowed-keys "${TOFSTREAM_PEOPLE:-people}" &
dispatcher=$!

# Before the job's time is over, or at scancel --batch --signal=TERM: runs write what has come, and their clients get it.
trap 'kill -TERM $dispatcher' TERM
while kill -0 $dispatcher 2>/dev/null; do
  wait -n $step $dispatcher
  code=$?
  if ! kill -0 $step 2>/dev/null; then  # no server is left
    kill -TERM $dispatcher
    wait $dispatcher
    break
  fi
done
kill -TERM $step 2>/dev/null
wait $step
exit $code
# SPDX-License-Identifier: Apache-2.0
