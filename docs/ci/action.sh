#!/usr/bin/env bash
# The steps of ../../action.yml, which has what they read from the environment.
set -euo pipefail

runs=.llman/sdd-eval/runs
before=$RUNNER_TEMP/sdd-eval-before # the runs of earlier steps

list() { ls "$runs" 2>/dev/null || true; }

# step_install installs the command and, on Linux, bubblewrap, which the replay of a skill's evals does not need.
step_install() {
  rm -f "$before"
  if [ -z "$SKILL" ] && [ "$RUNNER_OS" = Linux ] && ! command -v bwrap >/dev/null; then
    sudo apt-get update && sudo apt-get install --yes bubblewrap
    if [ -d /etc/apparmor.d ]; then # Ubuntu lets only programs with a profile make namespaces
      printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n' |
        sudo tee /etc/apparmor.d/bwrap
      sudo apparmor_parser -r /etc/apparmor.d/bwrap
    fi
  fi
  case $INSTALL in
    go)
      (cd "$GITHUB_ACTION_PATH" && GOBIN="$RUNNER_TEMP/sdd-eval" GOWORK=off go install ./cmd/sdd-eval)
      echo "$RUNNER_TEMP/sdd-eval" >>"$GITHUB_PATH" ;;
    npm)
      npm install --global "sdd-eval@$(sed -n 's/^const Version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/internal/engine/config.go")" ;;
    none) ;;
    *) echo "::error::sdd-eval: install is go, npm or none, not $INSTALL" && exit 2 ;;
  esac
}

# step_run runs the evals, whose exit code is the step's.
step_run() {
  list >"$before"
  [ -z "$SKILL" ] || { skill && exit 0 || exit $?; }
  EVALTEST_RUN_DIR=$PWD exec bash --noprofile --norc -eo pipefail -c "$RUN"
}

# skill replays the evals of a skill. What it says of the baseline goes to the summary, or why there is nothing to say,
# such as who records what is stale.
skill() {
  local code=0 said=$RUNNER_TEMP/sdd-eval-skill verdict
  sdd-eval skill "$SKILL" --mode replay 2>&1 | tee "$said" || code=$?
  verdict=$(sed -n '/^baseline  /,$p' "$said" | tail -n 40)
  [ -n "$verdict" ] || [ $code = 0 ] || verdict=$(tail -n 3 "$said")
  [ -z "$verdict" ] || printf '```\n%s\n```\n' "$verdict" >>"$GITHUB_STEP_SUMMARY"
  return $code
}

# step_report annotates, adds to the summary and comments, and fails where a run did not pass, even if step_run did not.
step_report() {
  local id ids code=0 reports='' report url="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
  ids=$([ ! -f "$before" ] || list | comm -13 "$before" -)
  for id in $ids; do
    tell "$id" || code=$?
    report=$(cat "$runs/$id/report.md" || echo "❌ $id has no report")
    if [ $((${#reports} + ${#report})) -gt 60000 ]; then # GitHub refuses comments of more than 65,536 characters
      report="${report%%$'\n'*}"$'\n\n'"Too long for a comment: see [the job]($url)."
    fi
    reports+=$'\n\n'"$report"
  done
  if [ -z "$ids" ]; then
    echo "::error::sdd-eval: no run was written below $PWD/$runs; let the action's run be go test of playbooks, or sdd-eval run"
    code=3 reports=$'\n\nNo run was written.'
  fi
  local verdict='✅ passed'
  [ "$OUTCOME" = success ] && [ $code = 0 ] || verdict='❌ did not pass'
  comment "<!-- sdd-eval $NAME -->" "**$NAME** $verdict at ${HEAD:-$GITHUB_SHA} ([job]($url))$reports" ||
    echo "::warning::sdd-eval: the comment was not written, as for forks and tokens without pull-requests: write; the job's summary has the report"
  exit $code
}

# tell annotates what did not pass in a run. What fails as the baseline of a skill says is no error: that has decided.
tell() {
  local code=0 said
  said=$(sdd-eval report --run "$1" --format github,md) || code=$?
  [ -z "$SKILL" ] || [ "$OUTCOME" != success ] || [ $code != 1 ] || { code=0 said=$(sed '/^::error /d' <<<"$said"); }
  printf '%s\n' "$said"
  return $code
}

# comment writes the comment that begins with $1, or replaces it.
comment() {
  [ -n "$PULL" ] || return 0
  local ids at="repos/$GITHUB_REPOSITORY/issues"
  printf '%s\n%s\n' "$1" "$2" >"$RUNNER_TEMP/sdd-eval-comment.md"
  ids=$(MARK=$1 gh api --paginate "$at/$PULL/comments" \
    --jq '.[] | select(.user.type == "Bot" and (.body | startswith(env.MARK))) | .id') || return
  if [ -n "$ids" ]; then
    gh api --silent --method PATCH "$at/comments/${ids%%$'\n'*}" -F body=@"$RUNNER_TEMP/sdd-eval-comment.md"
  else
    gh api --silent --method POST "$at/$PULL/comments" -F body=@"$RUNNER_TEMP/sdd-eval-comment.md"
  fi
}

"step_$1"
