#!/bin/bash
# One reconstruction on the GPUs of several nodes, as a job of Slurm's that goes on where it ended:
#   tofstream keys new job -o keys                      # in a folder that all nodes see
#   sbatch share/operations/slurm-run.sh my_pipeline.yaml --input scan.petsird
# Where a rank or a node fails, the job is queued again, and the run goes on from its last checkpoint (a pipeline with a
# checkpoint_writer: tofstream docs live), on as many ranks as it then has. See tofstream docs ranks.
# Frames or gates in groups, which take a GPU each, and one process more, which takes none:
#   sbatch --ntasks=9 --ntasks-per-node=5 --gpus-per-node=4 --gpus-per-task=0 share/operations/slurm-run.sh dynamic_osem \
#       --input scan.petsird --groups 8
#SBATCH --job-name=tofstream --nodes=2 --ntasks-per-node=4 --gpus-per-task=1 --gpu-bind=none
#SBATCH --requeue --open-mode=append
set -u
job=${TOFSTREAM_KEYS:-keys}/job out=${TOFSTREAM_OUT:-results-$SLURM_JOB_ID} restarts=${SLURM_RESTART_COUNT:-0}
resume=()
if [ "$restarts" -gt 0 ] && [ -d "$out" ]; then resume=(--set "resume_from=$out"); fi

srun tofstream run "$@" --out "$out" "${resume[@]}" \
    --key "$job.secret.yaml" --server-key "$job.public.yaml" --allowed-keys "$job.public.yaml"
code=$?
# 2 is bad input, which no further try mends. A node that fails ends this script too: then Slurm queues the job again.
if [ $code -ne 0 ] && [ $code -ne 2 ] && [ "$restarts" -lt "${TOFSTREAM_RESTARTS:-3}" ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
# SPDX-License-Identifier: Apache-2.0
