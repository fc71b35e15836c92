// Package sandbox serves an agent the files and terminals of its workspace, and nothing else.
//
//	files, err := sandbox.OpenFiles(workspace)
//	...
//	defer files.Close()
//	text, err := files.Read("/path/to/workspace/main.go", nil, nil)
//	terminals := sandbox.NewTerminals(files, sandbox.TerminalConfig{Env: env, Allow: []string{"go", "git"}})
//	defer terminals.Close()
//
// Every path an agent names is resolved below a directory that was opened once, by [os.Root]: links that lead outside
// are refused, whenever they are made. What an agent's commands do in their own process is not confined here.
package sandbox
