// Package trajectory describes what a coding agent did and matches it with what was expected.
//
//	want := trajectory.All(
//		trajectory.InOrder(
//			trajectory.Tool("Grep").Args(trajectory.Args{"pattern": trajectory.ContainsCI("todo")}),
//			trajectory.Tool("Read").Args(trajectory.Args{"file_path": trajectory.Path("src/a.go")}),
//			trajectory.Kind("execute"),
//		),
//		trajectory.Never("WebFetch"),
//	)
//	result := want.Match(run)
//	if !result.Pass {
//		t.Error(result)
//	}
//
// A trajectory is the ordered list of the tool calls of a [Run]. A [Matcher] compares it with expected calls and
// returns a [Result]: passed, failed with a table that explains it, or an error if the expectation is malformed.
// Matching never panics and never guesses.
//
// # Which matcher
//
// Superset expects each of its calls somewhere, in any order, each matched by a different call. "At least these" is
// superset.
//
// InOrder expects its calls in this order; there may be others in between. Of all alignments the one with the most
// matches counts, so one missing call does not spoil those after it.
//
// [Subset] expects no other calls than its own: "only these". It holds for an agent that did nothing.
//
// [Unordered], [Exact] and [Strict] expect just these calls: in any order, in this order, or in this order and made
// together as in its groups. Exact() expects that no tool was called.
//
// AnyOrder, AtLeast, AtMost, Never, Before, NoDuplicates and MaxDuration are constraints, and All combines matchers
// into one.
//
// # Which call
//
// A [Call] names a tool, exactly as the agent names it, or with [Kind] a kind of tool, or with [Does] what the call
// does, by a tool of its own or by a command in a shell; [AnyOf] has alternatives. It may expect arguments. How they
// are compared is its [ArgMode]: by default each expected argument must be present and match, and there may be others.
// A name in Args stands for one whole argument, whose value is compared deeply. [Call.Fields] compares parts of
// arguments instead, and [Call.Where] adds a rule in Go.
//
// An expected argument is an argument matcher or a plain value. Plain values must be equal, except for well-known tools
// of coding agents, whose Profile compares paths as paths and patterns as patterns. The matchers, named in YAML as on
// the left:
//
//	equals       Equals(v)         the same JSON value; a plain value means this
//	contains     Contains(s)       a text with s in it
//	contains_ci  ContainsCI(s)     the same, whatever the case
//	ends_with    EndsWith(s)       a text that ends with s
//	regex        Regex(expr)       a text in which expr (package regexp) matches somewhere
//	glob         Glob(pattern)     a path that fits, by components; ** is any number of them, {a,b} a or b
//	path         Path(p)           the path of the same file
//	glob_like    GlobLike(pattern) a pattern for the same files, however deep they lie
//	one_of       OneOf(v...)       a value that equals one of these
//	gte, lte     GTE(n), LTE(n)    a number of at least, at most n
//	near         Near(v, within)   a number that differs from v by at most within
//	any          Any()             anything, as long as the argument is there
//	absent       Absent()          the argument is not there; null is there
//	type         Type(name)        a value of this JSON type
//
// The rules that surprise least:
//
//   - An argument that is not there matches nothing but Absent.
//   - 1 is 1.0, but not "1". Integers are exact however large.
//   - Matchers of text hold for a list if they hold for one of its elements: some agents give a command as words.
//   - Paths are compared as files, by whole components: both sides are cleaned, and relative ones lie below
//     [Run.Cwd], for which $WORKSPACE may stand. Path("a.go") is neither data.go nor src/a.go; Glob("*.go") is the
//     latter: a pattern without a slash is about the file's name alone.
//   - A limit, [Call.MaxDuration], does not decide which call is meant. It counts as one more expectation; of
//     pairings with equally many matches the one that keeps the most limits counts.
//
// # Score
//
// A score is the share of expectations that held: matched calls by expected calls for Superset and InOrder, by actual
// calls for Subset, and by expected or actual calls, whichever are more, for Unordered, Exact and Strict; each
// constraint counts as one more. It is 1 if nothing was expected and nothing was wrong. A result passes if and only if
// its score is 1.
package trajectory
