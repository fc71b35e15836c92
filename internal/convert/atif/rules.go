package atif

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// versions are the supported versions. Older ones have fewer fields and are checked by the same rules, as the
// reference implementation does.
var versions = []string{
	"ATIF-v1.0", "ATIF-v1.1", "ATIF-v1.2", "ATIF-v1.3", "ATIF-v1.4", "ATIF-v1.5", "ATIF-v1.6", "ATIF-v1.7", Version,
}

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// audioTypes are the types of audio, then other names of them that readers have to know, in whatever case.
var audioTypes = []string{
	"audio/wav", "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/flac", "audio/webm", "audio/aiff",
	"audio/mp3", "audio/mpga", "audio/x-mpeg", "audio/x-wav", "audio/wave", "audio/vnd.wave", "audio/x-m4a",
	"audio/m4a", "audio/x-aac", "audio/x-flac", "audio/x-aiff",
}

var (
	trajectoryShape = shape{
		"!schema_version": isVersion, "session_id": isText, "trajectory_id": isText, "!agent": agent, "!steps": later,
		"notes": isText, "final_metrics": finalMetrics, "continued_trajectory_ref": isText, "extra": isObject,
		"subagent_trajectories": later,
	}
	agentShape = shape{
		"!name": isText, "!version": isText, "model_name": isText, "tool_definitions": each(isObject),
		"extra": isObject,
	}
	stepShape = shape{
		"!step_id": later, "timestamp": isTimestamp, "!source": isSource, "model_name": isText,
		"reasoning_effort": isEffort, "!message": content, "reasoning_content": isText, "tool_calls": each(toolCall),
		"observation": observation, "metrics": metrics, "extra": isObject, "llm_call_count": isCount,
		"is_copied_context": isBool,
	}
	toolCallShape = shape{
		"!tool_call_id": isText, "!function_name": isText, "!arguments": isObject, "extra": isObject,
	}
	observationShape = shape{"!results": each(result)}
	resultShape      = shape{
		"source_call_id": isText, "content": content, "subagent_trajectory_ref": each(subagent), "extra": isObject,
	}
	subagentShape = shape{
		"trajectory_id": isText, "trajectory_path": isText, "session_id": isText, "extra": isObject,
	}
	metricsShape = shape{
		"prompt_tokens": isInteger, "completion_tokens": isInteger, "cached_tokens": isInteger, "cost_usd": isNumber,
		"prompt_token_ids": each(isInteger), "completion_token_ids": each(isInteger), "logprobs": each(isNumber),
		"extra": isObject,
	}
	finalMetricsShape = shape{
		"total_prompt_tokens": isInteger, "total_completion_tokens": isInteger, "total_cached_tokens": isInteger,
		"total_cost_usd": isNumber, "total_steps": isCount, "extra": isObject,
	}
	textShape   = shape{"!type": later, "!text": isText, "source": later}
	imageShape  = shape{"!type": later, "!source": image, "text": later}
	audioShape  = shape{"!type": later, "!source": audio, "text": later}
	sourceShape = shape{"!media_type": isImageType, "!path": isText}
	soundShape  = shape{"!media_type": isAudioType, "!path": isText, "duration_sec": isDuration}
)

// agentOnly are fields that only steps of the agent have.
var agentOnly = []string{"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}

// trajectory checks a trajectory, which is embedded in another one unless depth is 0.
func (c *checker) trajectory(path string, v any, depth int) {
	if depth > maxDepth {
		c.addf(path, "subagents are nested deeper than %d", maxDepth)
		return
	}
	t := c.object(path, v, trajectoryShape)
	if t == nil {
		return
	}
	if depth > 0 && t["trajectory_id"] == nil {
		c.addf(join(path, "trajectory_id"), "is required in embedded trajectories")
	}
	ids := c.embedded(path, t, depth)
	if steps, ok := t["steps"]; ok {
		n := 0
		c.list(join(path, "steps"), steps, func(path string, v any) {
			n++
			c.step(path, v, n, ids)
		})
		if a, ok := steps.([]any); ok && len(a) == 0 {
			c.addf(join(path, "steps"), "must not be empty")
		}
	}
}

// embedded checks the trajectories in a trajectory and returns their ids.
func (c *checker) embedded(path string, t map[string]any, depth int) map[string]bool {
	ids := make(map[string]bool)
	if t["subagent_trajectories"] == nil {
		return ids
	}
	c.list(join(path, "subagent_trajectories"), t["subagent_trajectories"], func(path string, v any) {
		c.trajectory(path, v, depth+1)
		o, _ := v.(map[string]any)
		id, ok := o["trajectory_id"].(string)
		if ok && ids[id] {
			c.addf(join(path, "trajectory_id"), "duplicate trajectory %s", shown(id))
		}
		ids[id] = true
	})
	return ids
}

// step checks the nth step of a trajectory that has these subagents.
func (c *checker) step(path string, v any, n int, subagents map[string]bool) {
	s := c.object(path, v, stepShape)
	if s == nil {
		return
	}
	if id, ok := s["step_id"]; ok && id != json.Number(fmt.Sprint(n)) {
		c.addf(join(path, "step_id"), "must be %d: steps are numbered from 1", n)
	}
	for _, name := range agentOnly {
		if s[name] != nil && s["source"] != string(FromAgent) {
			c.addf(join(path, name), "only steps of the agent may have it")
		}
	}
	if s["llm_call_count"] == json.Number("0") && s["source"] == string(FromAgent) {
		for _, name := range []string{"metrics", "reasoning_content"} {
			if s[name] != nil {
				c.addf(join(path, name), "must not be set if llm_call_count is 0")
			}
		}
	}
	c.references(path, s, subagents)
}

// references checks that results refer to calls of the same step, and to embedded trajectories.
func (c *checker) references(path string, step map[string]any, subagents map[string]bool) {
	calls := make(map[string]bool)
	list, _ := step["tool_calls"].([]any)
	for i, v := range list {
		call, _ := v.(map[string]any)
		id, ok := call["tool_call_id"].(string)
		if ok && calls[id] {
			c.addf(fmt.Sprintf("%s.tool_calls[%d].tool_call_id", path, i), "duplicate call %s",
				shown(id))
		}
		calls[id] = true
	}
	o, _ := step["observation"].(map[string]any)
	results, _ := o["results"].([]any)
	for i, v := range results {
		at := fmt.Sprintf("%s.observation.results[%d]", path, i)
		r, _ := v.(map[string]any)
		if id, ok := r["source_call_id"].(string); ok && !calls[id] {
			c.addf(at+".source_call_id", "%s is not a call of this step", shown(id))
		}
		refs, _ := r["subagent_trajectory_ref"].([]any)
		for j, v := range refs {
			ref, _ := v.(map[string]any)
			id, ok := ref["trajectory_id"].(string)
			if ok && ref["trajectory_path"] == nil && !subagents[id] {
				c.addf(fmt.Sprintf("%s.subagent_trajectory_ref[%d].trajectory_id", at, j),
					"unknown embedded trajectory %s", shown(id))
			}
		}
	}
}

func agent(c *checker, path string, v any)        { c.object(path, v, agentShape) }
func finalMetrics(c *checker, path string, v any) { c.object(path, v, finalMetricsShape) }
func metrics(c *checker, path string, v any)      { c.object(path, v, metricsShape) }
func toolCall(c *checker, path string, v any)     { c.object(path, v, toolCallShape) }
func observation(c *checker, path string, v any)  { c.object(path, v, observationShape) }
func result(c *checker, path string, v any)       { c.object(path, v, resultShape) }
func image(c *checker, path string, v any)        { c.object(path, v, sourceShape) }
func audio(c *checker, path string, v any)        { c.object(path, v, soundShape) }

func subagent(c *checker, path string, v any) {
	ref := c.object(path, v, subagentShape)
	if ref != nil && ref["trajectory_id"] == nil && ref["trajectory_path"] == nil {
		c.addf(path, "needs a trajectory_id or a trajectory_path")
	}
}

// content checks a text or a list of parts.
func content(c *checker, path string, v any) {
	switch v.(type) {
	case string:
	case []any:
		c.list(path, v, func(path string, v any) { part(c, path, v) })
	default:
		c.addf(path, "must be a string or an array of parts, not %s", jsonvalue.Type(v))
	}
}

func part(c *checker, path string, v any) {
	o, ok := v.(map[string]any)
	if !ok {
		c.addf(path, "must be an object, not %s", jsonvalue.Type(v))
		return
	}
	other := "" // the field of the other type
	switch o["type"] {
	case "text":
		c.object(path, v, textShape)
		other = "source"
	case "image":
		c.object(path, v, imageShape)
		other = "text"
	case "audio":
		c.object(path, v, audioShape)
		other = "text"
	default:
		c.addf(join(path, "type"), "must be text, image or audio")
	}
	if other != "" && o[other] != nil {
		c.addf(join(path, other), "must not be set in a part of type %s", o["type"])
	}
}

func isVersion(c *checker, path string, v any) {
	if text, ok := v.(string); !ok || !slices.Contains(versions, text) {
		c.addf(path, "%s is not a supported version (%s to %s)", shown(v), versions[0], versions[len(versions)-1])
	}
}

func isSource(c *checker, path string, v any) {
	switch v {
	case string(System), string(User), string(FromAgent):
	default:
		c.addf(path, "must be system, user or agent, not %s", shown(v))
	}
}

func isImageType(c *checker, path string, v any) {
	if text, ok := v.(string); !ok || !slices.Contains(imageTypes, text) {
		c.addf(path, "must be one of %s", strings.Join(imageTypes, ", "))
	}
}

func isAudioType(c *checker, path string, v any) {
	text, ok := v.(string)
	if !ok || !slices.Contains(audioTypes, strings.ToLower(strings.TrimSpace(text))) {
		c.addf(path, "must be one of %s", strings.Join(audioTypes[:8], ", "))
	}
}

func isDuration(c *checker, path string, v any) {
	isNumber(c, path, v)
	notNegative(c, path, v)
}

func isCount(c *checker, path string, v any) {
	isInteger(c, path, v)
	notNegative(c, path, v)
}

func notNegative(c *checker, path string, v any) {
	if n, ok := v.(json.Number); ok && strings.HasPrefix(n.String(), "-") {
		c.addf(path, "must not be negative")
	}
}
