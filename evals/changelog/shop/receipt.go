// Package shop prints receipts.
package shop

import (
	"fmt"
	"strings"
)

// Line is one line of a receipt.
type Line struct {
	Name  string
	Count int
	Cents int // of one piece
}

// Receipt returns the text that a customer takes home.
func Receipt(lines []Line) string {
	var b strings.Builder
	total := 0
	for _, l := range lines {
		sum := l.Count * l.Cents
		total += sum
		fmt.Fprintf(&b, "%d %s %s\n", l.Count, l.Name, money(sum))
	}
	fmt.Fprintf(&b, "total %s\n", money(total))
	return b.String()
}

// money formats an ammount of cents.
func money(cents int) string {
	return fmt.Sprintf("%d.%d", cents/100, cents%100)
}
