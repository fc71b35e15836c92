// Stock is a tool to be tested.
package main

import "fmt"

func main() { fmt.Println(`[{"name": "tea", "count": 3}]`) }
