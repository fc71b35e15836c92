#!/bin/bash
#SBATCH --job-name=evals
#SBATCH --array=1-3
#SBATCH --time=01:00:00
# Three tasks run one playbook, in a checkout that all nodes see; then a job makes a run of theirs, whatever came of them:
#
#	job=$(sbatch --parsable shards-slurm.sh)
#	sbatch --dependency=afterany:"$job" --wrap 'sdd-eval merge .'
#
# Each launch needs its own checkout, or none of the runs of the last one: `merge .` takes all that are there.
set -eu
cd "$SLURM_SUBMIT_DIR"
sdd-eval run evals/shop.yaml --mode replay --shard auto
