#!/bin/sh
# What Claude Code is in tests of the engine: it says what the prompt's first word asks for, and tells its arguments.
args="$*" session=0d4e1c93-4d41-4f08-9c1e-2f5e1a7b3c66 settings=
while [ $# -gt 0 ]; do
	case $1 in
	--settings) settings=$2 ;;
	--resume) session=$2 ;;
	esac
	shift
done
prompt=$(cat)

hook() { # PHASE EVENT ID: runs the hook that the settings have for a phase
	command=$(sed -n 's/.*"command": "\(.*\) hook pre".*/\1/p' "$settings")
	printf '{"session_id":"%s","hook_event_name":"%s","tool_name":"Bash","tool_input":{"command":"true"},"tool_use_id":"%s","tool_response":{}}' \
		"$session" "$2" "$3" | eval "$command hook $1"
}
say() { printf '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
call() { printf '{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"true"}}]}}\n' "$1"; }
answer() { printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"%s","content":"ok"}]}}\n' "$1"; }
finish() { printf '{"type":"result","subtype":"success","stop_reason":"end_turn","total_cost_usd":0.5,"usage":{"input_tokens":100,"output_tokens":10}}\n'; }

echo "claude: started" >&2
if [ "${prompt%% *}" = crash ]; then
	exit 3
fi
servers='[]'
if [ "${prompt%% *}" = lacks ]; then
	servers='[{"name":"x","status":"failed"}]'
fi
printf '{"type":"system","subtype":"init","session_id":"%s","claude_code_version":"1.2.3","mcp_servers":%s}\n' "$session" "$servers"
case ${prompt%% *} in
args) say "$args" ;;
environment) say "$TEST_MODE $CLAUDE_PROJECT_DIR $IS_SANDBOX." ;;
key) say "$KEY" ;;
call)
	call t1 && hook pre PreToolUse t1 && echo 1 >made && hook post PostToolUse t1 && answer t1
	say done
	;;
unseen) call t1 && answer t1 ;;
half) call t1 && hook pre PreToolUse t1 && answer t1 && call t2 && answer t2 ;;
many)
	for id in t1 t2 t3; do
		call $id && hook pre PreToolUse $id && answer $id
	done
	call t4
	sleep 60
	;;
opens) call t1 && sleep 60 ;;
hang) sleep 60 ;;
begin)
	say 'I begin.'
	sleep 60
	;;
denied)
	call t1 && hook pre PreToolUse t1
	echo '{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1"}'
	answer t1
	;;
quit) exit 4 ;;
overloaded)
	echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded"}'
	exit 1
	;;
refused) echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"Bad request"}' ;;
garbage) echo 'Hello, I am no JSON' ;;
esac
finish
