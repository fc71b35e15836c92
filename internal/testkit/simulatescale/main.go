// Command simulatescale prints how long a plan takes on many machines, beside the shortest that it could take: in
// shards, which the code of internal/shard makes, and by queues. Its table is in docs/scale.md.
package main

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/shard"
)

func main() {
	times := pflag.Int("times", 20, "repetitions of each row, fewer of those with more machines: 10,000 have one")
	pflag.Parse()
	write(os.Stdout, []int{10, 100, 1000, 10_000}, *times)
}

// What is assumed of machines and units.
const (
	restart  = 60.0 // seconds until a worker that died is there again
	lease    = 30.0 // seconds until the queue offers the unit of a worker that died to another one
	median   = 60.0 // of the seconds that cases take
	longest  = 3600 // no unit takes more seconds: its limit
	suite    = 50   // cases that stand together and are alike
	alike    = 0.5  // deviation of the logarithms of suites
	moods    = 0.3  // deviation of the logarithms of trials of one case
	perCase  = 2    // units of a case: its variants
	atLeast  = 10_000
	perShard = 50 // units a worker, at least
)

// tails are the distributions of what cases take, before suites and moods: samples in units of the median.
var tails = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"log-normal, σ 1", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
	{"Pareto, α 1.5", func(r *rand.Rand) float64 { return math.Pow(2*(1-r.Float64()), -1/1.5) }},
}

// ways are how the plan is divided, the best first. What prepare returns says when all has ended, if workers die so.
var ways = []struct {
	name    string
	prepare func(l load, workers int) func(deaths []float64) float64
}{
	{"queue, longest first", func(l load, _ int) func([]float64) float64 {
		order := l.order()
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.known[b], l.known[a]) })
		return func(deaths []float64) float64 { return l.queue(order, deaths) }
	}},
	{"queue, as it comes", func(l load, _ int) func([]float64) float64 {
		return func(deaths []float64) float64 { return l.queue(l.order(), deaths) }
	}},
	{"shards, packed", func(l load, workers int) func([]float64) float64 {
		w := shard.Weights{Version: 1, Seconds: make(map[string]float64, len(l.ids))}
		for i, id := range l.ids {
			w.Seconds[parent(id)] = l.known[i]
		}
		return l.divided(w, workers)
	}},
	{"shards, hashed", func(l load, workers int) func([]float64) float64 {
		return l.divided(shard.Weights{}, workers)
	}},
	{"shards, contiguous", func(l load, workers int) func([]float64) float64 {
		work := make([]float64, workers)
		for i, s := range l.seconds {
			work[i/perCase*perCase*workers/len(l.ids)] += s
		}
		return shards(work)
	}},
}

// parent returns an id without its last part.
func parent(id string) string { return id[:strings.LastIndexByte(id, '/')] }

// load is what a plan takes, by unit: what it takes this time, and what is known of it from former runs.
type load struct {
	ids            []string
	seconds, known []float64
}

func draw(units int, tail func(*rand.Rand) float64, r *rand.Rand) load {
	var l load
	kind := 0.0
	for i := range units / perCase {
		if i%suite == 0 {
			kind = math.Exp(alike * r.NormFloat64())
		}
		of := median * kind * tail(r)
		for v := range perCase {
			l.ids = append(l.ids, fmt.Sprintf("p/case%d/v%d/1", i, v))
			l.known = append(l.known, min(of, longest))
			l.seconds = append(l.seconds, min(of*math.Exp(moods*r.NormFloat64()), longest))
		}
	}
	return l
}

// ideal is the shortest time that so many workers could need: all work at once, or the longest unit.
func (l load) ideal(workers int) float64 {
	sum := 0.0
	for _, s := range l.seconds {
		sum += s
	}
	return max(sum/float64(workers), slices.Max(l.seconds))
}

// order is that of the plan.
func (l load) order() []int {
	order := make([]int, len(l.ids))
	for i := range order {
		order[i] = i
	}
	return order
}

// divided runs the shards that sdd-eval run --shard makes.
func (l load) divided(w shard.Weights, workers int) func(deaths []float64) float64 {
	of := make(map[string]float64, len(l.ids)/perCase)
	for i, s := range l.seconds {
		of[parent(parent(l.ids[i]))] += s
	}
	d := shard.Divide(shard.TasksOf(l.ids, w), workers)
	work := make([]float64, workers)
	for k := range work {
		for _, id := range d.Tasks(k + 1) {
			work[k] += of[id]
		}
	}
	return shards(work)
}

// shards ends when the last of the workers has. One that dies begins its shard again: its directory is lost.
func shards(work []float64) func(deaths []float64) float64 {
	return func(deaths []float64) (end float64) {
		for k, own := range work {
			if deaths[k] < own {
				own += deaths[k] + restart
			}
			end = max(end, own)
		}
		return end
	}
}

// deaths returns when each worker dies: a part of them, each once, at any moment of the ideal time.
func (l load) deaths(workers int, part float64, r *rand.Rand) []float64 {
	all, ideal := make([]float64, workers), l.ideal(workers)
	for i := range all {
		if all[i] = math.Inf(1); r.Float64() < part {
			all[i] = r.Float64() * ideal
		}
	}
	return all
}

// event is a moment with a number: a worker that is free, or a unit that is offered again.
type event struct {
	at float64
	of int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// queue returns when the last unit has ended, where each worker that is free takes the next one. The unit of a worker
// that dies is offered again, before the others.
func (l load) queue(order []int, deaths []float64) (end float64) {
	deaths = slices.Clone(deaths)
	var again events
	free := make(events, len(deaths))
	for i := range free {
		free[i].of = i
	}
	for len(order)+len(again) > 0 {
		w := heap.Pop(&free).(event)
		var unit int
		switch {
		case len(again) > 0 && (again[0].at <= w.at || len(order) == 0):
			next := heap.Pop(&again).(event)
			unit, w.at = next.of, max(w.at, next.at)
		default:
			unit, order = order[0], order[1:]
		}
		done := w.at + l.seconds[unit]
		if died := deaths[w.of]; died < done {
			deaths[w.of] = math.Inf(1)
			heap.Push(&free, event{max(died, w.at) + restart, w.of})
			heap.Push(&again, event{max(died, w.at) + lease, unit})
			continue
		}
		end = max(end, done)
		heap.Push(&free, event{done, w.of})
	}
	return end
}

// dying is which part of the workers dies.
var dying = []float64{0, 0.02}

// means are of makespan over ideal, by the part of workers that die, then by way.
func means(tail, workers, times int) [][]float64 {
	all := make([][]float64, len(dying))
	for n := range times {
		r := rand.New(rand.NewPCG(uint64(n), uint64(workers)))
		l := draw(max(atLeast, perShard*workers), tails[tail].draw, r)
		for i, way := range ways {
			span := way.prepare(l, workers)
			for j, part := range dying { // the same deaths in all ways
				if i == 0 && n == 0 {
					all[j] = make([]float64, len(ways))
				}
				deaths := l.deaths(workers, part, rand.New(rand.NewPCG(uint64(n), uint64(j))))
				all[j][i] += span(deaths) / l.ideal(workers) / float64(times)
			}
		}
	}
	return all
}

// write prints the table.
func write(w io.Writer, workers []int, times int) {
	fmt.Fprint(w, "| units take | workers | of them die |")
	for _, way := range ways {
		fmt.Fprintf(w, " %s |", way.name)
	}
	fmt.Fprintf(w, "\n|---|---|---|%s\n", strings.Repeat("---|", len(ways)))
	for tail := range tails {
		for _, n := range workers {
			for j, row := range means(tail, n, min(times, max(1, 10_000/n))) {
				fmt.Fprintf(w, "| %s | %d | %.0f %% |", tails[tail].name, n, 100*dying[j])
				for _, mean := range row {
					fmt.Fprintf(w, " %.2f |", mean)
				}
				fmt.Fprintln(w)
			}
		}
	}
}
