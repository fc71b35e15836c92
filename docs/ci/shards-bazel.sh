#!/usr/bin/env bash
# Runs one shard of a playbook, which Bazel says which; shards.BUILD.bazel has the test.
set -eu
export HOME="${HOME:-$TEST_TMPDIR}"
mkdir "$TEST_TMPDIR/project"
cp -RL . "$TEST_TMPDIR/project" # files, since a playbook reads no links that lead out of its project
cd "$TEST_TMPDIR/project"
code=0
sdd-eval run evals/shop.yaml --mode replay --root . || code=$?
cp -R .llman/sdd-eval/runs/. "$TEST_UNDECLARED_OUTPUTS_DIR"
exit "$code"
