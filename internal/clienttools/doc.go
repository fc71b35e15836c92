// Package clienttools answers what an agent asks of its client, which is files, terminals and permissions, from what was
// recorded, and with what a playbook wants it to be answered instead.
//
// An engine that starts an agent with recorded answers:
//
//	cfg := clienttools.Config{
//		Normaliser: normaliser,    // the session's
//		Call:       observer.Call, // which has seen a request before it is answered
//		Diverged:   interruptTurn, // the turn then ends in that error
//		Book:       interaction.NewBook(clienttools.Interactions(recording.Turns)),
//		Files:      files,         // the workspace, in which recorded writes are made
//	}
//	if err := clienttools.Check(overrides); err != nil {
//		return err // an override of the wrong type
//	}
//	client := clienttools.Override(cfg, clienttools.Replay(cfg), overrides)
//	clientConfig.Files, clientConfig.Terminals, clientConfig.Permission = client.Files, client.Terminals, client.Permission
//	...
//	cfg.Book.Unused(allowed), cfg.Book.Reordered(), overrides.Unapplied()
//
// One that records, and knows overrides, has neither Book nor Files, and overrides what really answers:
//
//	client := clienttools.Override(cfg, clienttools.Client{
//		Files: files.Handler(), Terminals: terminals.Handler(), Permission: policy,
//	}, overrides)
//
// What was recorded is normalised. Answers have the directories of this run again, but what a playbook's pattern took out,
// such as a duration, remains a placeholder. A file of the workspace that still is what was recorded is read itself. A
// terminal shows at once what it showed last, and the exit that it then had; one whose end was not recorded runs until
// it is killed.
package clienttools
