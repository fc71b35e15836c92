import json, os, subprocess, sys
given = json.load(sys.stdin)
done = subprocess.run(given["config"]["argv"], input=given["candidate_answer"], text=True, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, env={**os.environ, "WAZA_WORKSPACE_DIR": given["workspace_path"] or ""})
if done.returncode in (126, 127):
    sys.exit("exit code %d: %s" % (done.returncode, done.stdout[-1500:]))
print(json.dumps({"pass": done.returncode == 0, "reason": "exit code %d: %s" % (done.returncode, done.stdout[-1500:])}))
