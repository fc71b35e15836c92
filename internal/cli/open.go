package cli

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// opener is the program that opens a file as the user's desktop does, with its arguments.
func opener(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// openTimeout is how long such a program may take to hand the file over.
const openTimeout = 10 * time.Second

// open opens a report in the browser. That this is not possible here decides nothing: it is told.
func (a *App) open(ctx context.Context, file string) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	line := append(opener(runtime.GOOS), file)
	if err := exec.CommandContext(ctx, line[0], line[1:]...).Run(); err != nil {
		fmt.Fprintf(a.Stderr, "%s was not opened: %s: %v\n", a.shown(file), line[0], err)
	}
}
