// Package clienttools answers an agent's requests to its client (files, terminals and permissions) from a recording, or
// with the overrides of a playbook.
//
// An engine that starts an agent with recorded answers:
//
//	cfg := clienttools.Config{
//		Normaliser: normaliser,    // the session's
//		Call:       observer.Call, // which has seen a request before it is answered
//		Diverged:   interruptTurn, // the turn then ends in that error
//	}
//	book := interaction.NewBook(clienttools.Interactions(recording.Turns))
//	client := clienttools.Override(cfg, clienttools.Replay(cfg, book, files), overrides)
//	clientConfig.Files, clientConfig.Terminals, clientConfig.Permission = client.Files, client.Terminals, client.Permission
//	...
//	book.Unused(allowed), book.Reordered(), overrides.Unapplied()
//
// An engine that records, with overrides, overrides the real client:
//
//	client := clienttools.Override(cfg, clienttools.Client{
//		Files: files.Handler(), Terminals: terminals.Handler(), Permission: policy,
//	}, overrides)
//
// Recordings are normalised. Answers get the directories of this run, but what a playbook's pattern replaced, such as a
// duration, remains a placeholder. A workspace file that is still as recorded is read itself. A terminal shows its last
// recorded output and exit at once; one whose end was not recorded runs until it is killed.
package clienttools
