# Judges by the workspace's own tests. They run in a copy: a judge may not write to the workspace.
set -eu
workspace=$(sed -E 's/.*[{,]"workspace_path":"(([^"\\]|\\.)*)".*/\1/')
cp -R "$workspace" "$TMPDIR/workspace"
cd "$TMPDIR/workspace"

code=0
go test ./... >&2 || code=$?
case $code in
0) echo '{"pass": true, "reason": "the tests pass"}' ;;
1) echo '{"pass": false, "reason": "the tests fail"}' ;;
*) exit "$code" ;; # they did not run, which says nothing about the agent
esac
