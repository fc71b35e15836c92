import json, re, sys
given = json.load(sys.stdin)
calls = [c for m in given["output_messages"] for c in m.get("tool_calls") or []]
names = {f.__name__: f for f in (len, any, all, str, int, float, bool, list, dict)}
names.update(re=re, output=given["candidate_answer"], tool_calls=calls, __builtins__={})
if (given["trace_summary"] or {}).get("duration_ms") is not None:
    names["duration_ms"] = given["trace_summary"]["duration_ms"]
checks = []
for text in given["config"]["assertions"]:
    try:
        ok, why = bool(eval(text, dict(names))), "it is false"
    except (NameError, SyntaxError):
        raise
    except Exception as e:
        ok, why = False, "it raised %r" % e
    checks.append({"text": text, "pass": ok, "reason": "" if ok else why})
print(json.dumps({"pass": all(c["pass"] for c in checks), "checks": checks}))
