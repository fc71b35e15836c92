package convert

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// spent are the tokens of one answer of a model, as a log has them. Input and total are as the program counts them.
type spent struct {
	input, output, cacheRead, cacheWrite, thought, total int64
}

// maxTokens is the largest number of tokens that is believed, per answer.
const maxTokens = 1 << 40

// spend adds the tokens of an answer to those of the turn.
func (b *builder) spend(s spent) error {
	t := b.turn()
	if t == nil {
		return nil
	}
	for _, n := range []int64{s.input, s.output, s.cacheRead, s.cacheWrite, s.thought, s.total} {
		if n < 0 || n > maxTokens {
			return fmt.Errorf("%d is no number of tokens", n)
		}
	}
	if t.usage == nil {
		t.usage = new(trajectory.Usage)
	}
	addTo(&t.usage.Input, s.input)
	addTo(&t.usage.Output, s.output)
	addTo(&t.usage.CacheRead, s.cacheRead)
	addTo(&t.usage.Total, s.total)
	if s.cacheWrite > 0 {
		addTo(&t.usage.CacheWrite, s.cacheWrite)
	}
	if s.thought > 0 {
		addTo(&t.usage.Thought, s.thought)
	}
	return nil
}

func addTo(sum **int64, n int64) {
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += n
}
