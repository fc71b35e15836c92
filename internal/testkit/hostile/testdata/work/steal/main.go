// Command steal prints the files that it is given, and leaves something in the directories.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, path := range os.Args[1:] {
		if data, err := os.ReadFile(path); err == nil {
			fmt.Println(string(data))
		}
		if os.WriteFile(filepath.Join(path, "poison"), nil, 0o644) == nil {
			fmt.Println("poison in", path)
		}
	}
}
