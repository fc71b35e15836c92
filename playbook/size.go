package playbook

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes. In a file it is a text with a unit, such as 512MiB or 1.5GiB.
type Size int64

// SizePattern is a regular expression that the texts of sizes match.
const SizePattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGT]i)?B$`

// The smallest and the largest size.
const (
	minSize = 1 << 20
	maxSize = 1 << 50
)

// units are those of sizes, the largest first.
var units = []struct {
	name  string
	bytes Size
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText sets the size to that of a text. The error says what sizes look like.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range units {
		number, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		bytes := n * float64(u.bytes)
		if err == nil && strings.Trim(number, ".0123456789") == "" && bytes >= minSize && bytes <= maxSize {
			*s = Size(bytes)
			return nil
		}
		break
	}
	return fmt.Errorf("must be a size from 1MiB to 1024TiB, like 512MiB or 1.5GiB, not %q", text)
}

// MarshalText returns the size with the largest unit of which it is a multiple.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range units {
		if s%u.bytes == 0 {
			return fmt.Appendf(nil, "%d%s", s/u.bytes, u.name), nil
		}
	}
	panic("unreachable") // each size is a number of bytes
}
