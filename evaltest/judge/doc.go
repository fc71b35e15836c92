// Package judge is for writing judges and prompt templates: programs named in a playbook that read what an agent did
// from standard input and write a verdict, or a prompt for a model, to standard output.
//
//	func main() {
//		judge.Main(func(ctx context.Context, in judge.Input) (judge.Result, error) {
//			if strings.Contains(in.CandidateAnswer, "4") {
//				return judge.Pass("the answer has the sum"), nil
//			}
//			return judge.Fail("the sum is not in the answer"), nil
//		})
//	}
//
// In the playbook it is run with go, or as a binary:
//
//	evaluators:
//	  - type: code_judge
//	    script: [go, run, ./judges/sum.go]
//
// A judge that cannot judge returns an error, which becomes exit code 1: the unit's outcome is then error, neither pass
// nor fail. [ParseResult] documents the rules for judges in other languages.
package judge
