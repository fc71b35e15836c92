"""Judges by the workspace's own tests: the score is the share of those that pass.

They run in a copy, since a judge may not write to the workspace."""

import json
import os
import shutil
import subprocess
import sys

workspace = json.load(sys.stdin)["workspace_path"]
copy = os.path.join(os.environ["TMPDIR"], "workspace")
shutil.copytree(workspace, copy, symlinks=True)
run = subprocess.run(["go", "test", "-json", "./..."], cwd=copy, stdout=subprocess.PIPE)

ended = {"pass": [], "fail": []}
for line in run.stdout.splitlines():
    event = json.loads(line)
    if event["Action"] in ended and "Package" in event:
        ended[event["Action"]].append(event["Package"] + " " + event.get("Test", "as a whole"))
hits, misses = ended["pass"], ended["fail"]
if (run.returncode == 0) != (not misses) or not hits + misses:
    sys.exit(f"go test ended with {run.returncode} after {len(hits)} that passed and {len(misses)} that failed")
json.dump({"score": len(hits) / len(hits + misses), "hits": hits, "misses": misses}, sys.stdout)
