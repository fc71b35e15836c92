// Package claudecli drives Claude Code without a protocol: one process per prompt, which prints what it does as lines
// of JSON.
//
//	o := claudecli.Observer{Cwd: workspace}
//	o.Prompt(time.Now(), "Find the TODOs.")
//	err := o.Read(stdout, nil) // of `claude -p --output-format stream-json --verbose`
//	turn := o.Turn()
//
// An [Observer] turns these lines into the same events that package observe makes from the frames of claude-agent-acp,
// which drives the same program: calls have the same names, kinds, titles and outputs. [Options] are the program's
// arguments.
package claudecli
