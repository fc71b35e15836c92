// Package judgment keeps models' answers about a unit beside the unit's cassette, so that judging is replayed without a
// key. An answer is found by the exact bytes of its question: a changed rubric needs newly recorded answers, and no
// answer is ever given to another question.
//
//	file, err := judgment.Open(judgment.Path(cassette), judgment.Config{Mode: judgment.Replay, Secrets: secrets, Command: command})
//	in.Models = file
//	... // evaluators ask
//	err = file.Save()
package judgment
