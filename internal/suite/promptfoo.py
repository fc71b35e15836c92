import importlib.util, json, sys, textwrap
given = json.load(sys.stdin)
c, output = given["config"], given["candidate_answer"]
context = {"prompt": given["question"], "vars": c["vars"], "config": c.get("config"), "test": {"vars": c["vars"]}}
if len(sys.argv) > 1:
    spec = importlib.util.spec_from_file_location("assertion", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    judge = getattr(module, c.get("function") or "get_assert")
else:
    code = c["code"] if "\n" in c["code"] else "return " + c["code"]
    scope = {}
    exec("import json, re\ndef judge(output, context):\n" + textwrap.indent(code, "    "), scope)
    judge = scope["judge"]
try:
    r = judge(output, context)
except NameError:
    raise
except Exception as e:
    r, c["not"] = {"pass": False, "score": 0, "reason": "the code raised %r" % e}, False
if isinstance(r, dict):
    passed, score = r.get("pass_", r.get("pass")), r.get("score")
    if not isinstance(passed, bool):
        sys.exit("the code gave %r, without pass" % r)
    score = float(passed if score is None else score)
    passed = passed and (c.get("threshold") is None or score >= c["threshold"])
elif isinstance(r, bool):
    passed, score = r, float(r)
elif isinstance(r, (int, float)):
    passed, score = r > 0 if c.get("threshold") is None else r >= c["threshold"], float(r)
else:
    sys.exit("the code gave neither a boolean, a number nor a dict but %r" % (r,))
if c.get("not"):
    passed, score = not passed, 1 - score if isinstance(r, bool) else score
reason = str(r.get("reason") if isinstance(r, dict) else "the code gave %r" % r)
print(json.dumps({"score": min(1, max(0, score)), "reasoning": reason} if c.get("scored") else {"pass": passed, "reason": reason}))
