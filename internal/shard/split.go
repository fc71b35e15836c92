package shard

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Task is what is not divided: the units of one case under all variants, which a service's moods then meet alike.
type Task struct {
	// ID is that of the case, with its playbook's name before it.
	ID string
	// Units is how many units it has.
	Units int
	// Seconds is how long they take together; 0: nobody knows.
	Seconds float64
}

// TasksOf returns the tasks of units with these ids, playbook/case/variant/trial, in their order.
func TasksOf(ids []string, w Weights) []Task {
	var tasks []Task
	known := make(map[string]int) // units of which it is known how long they take
	at := make(map[string]int)
	for _, id := range ids {
		result := id[:max(0, strings.LastIndexByte(id, '/'))]
		of := result[:max(0, strings.LastIndexByte(result, '/'))]
		i, ok := at[of]
		if !ok {
			i = len(tasks)
			at[of] = i
			tasks = append(tasks, Task{ID: of})
		}
		tasks[i].Units++
		if s := w.Seconds[result]; s > 0 {
			tasks[i].Seconds += s
			known[of]++
		}
	}
	for i, t := range tasks { // of the others of a case, what they take on average
		if n := known[t.ID]; n > 0 {
			tasks[i].Seconds *= float64(t.Units) / float64(n)
		}
	}
	return tasks
}

// Division says which task is whose.
type Division struct {
	of      int
	tasks   []Task
	shardOf []int // by task, from 1
	packed  bool
}

// Divide divides tasks among a number of shards: by packing if it is known how long some of them take, the longest
// first, each to the shard with the least work, else by a hash of their ids. It depends on nothing else. Of a task of
// unknown length the median of the others is assumed.
func Divide(tasks []Task, of int) Division {
	d := Division{of: of, tasks: slices.Clone(tasks), shardOf: make([]int, len(tasks))}
	var known []float64
	for _, t := range tasks {
		if t.Seconds > 0 {
			known = append(known, t.Seconds/float64(max(t.Units, 1)))
		}
	}
	if d.packed = len(known) > 0; !d.packed {
		for i, t := range tasks {
			d.shardOf[i] = int(hash(t.ID)%uint64(of)) + 1
		}
		return d
	}
	slices.Sort(known)
	for i, t := range d.tasks {
		if t.Seconds <= 0 {
			d.tasks[i].Seconds = known[(len(known)-1)/2] * float64(t.Units)
		}
	}
	load, first := make([]float64, of), 0
	if len(tasks) > 0 { // small plans do not all begin with the same shard
		first = int(hash(tasks[0].ID) % uint64(of))
	}
	for _, i := range longestFirst(d.tasks) {
		least := first
		for k := range of {
			if at := (first + k) % of; load[at] < load[least] {
				least = at
			}
		}
		load[least] += d.tasks[i].Seconds
		d.shardOf[i] = least + 1
	}
	return d
}

// longestFirst returns the indices of tasks, the longest first; where that is equal, by their ids.
func longestFirst(tasks []Task) []int {
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(tasks[b].Seconds, tasks[a].Seconds), cmp.Compare(tasks[a].ID, tasks[b].ID))
	})
	return order
}

// Tasks returns the ids of the tasks that a shard has, in their order.
func (d Division) Tasks(index int) []string {
	var ids []string
	for i, t := range d.tasks {
		if d.shardOf[i] == index {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Units returns how many units a shard has.
func (d Division) Units(index int) (n int) {
	for i, t := range d.tasks {
		if d.shardOf[i] == index {
			n += t.Units
		}
	}
	return n
}

// Share returns the part of the work, from 0 to 1, that a shard has: of the time if it is known, else of the units.
// Those of all shards make 1.
func (d Division) Share(index int) float64 {
	var own, all float64
	for i, t := range d.tasks {
		weight := float64(t.Units)
		if d.packed {
			weight = t.Seconds
		}
		if all += weight; d.shardOf[i] == index {
			own += weight
		}
	}
	return share(own, all)
}

// Digest returns the same text for divisions alike.
func (d Division) Digest() string {
	sum := sha256.New()
	for i, t := range d.tasks {
		fmt.Fprintf(sum, "%s\x00%d\n", t.ID, d.shardOf[i])
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:24]
}

// By says how it was divided, for people.
func (d Division) By() string {
	if d.packed {
		return "packed by the times of former runs"
	}
	return "by a hash of the cases"
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // which never fails
	// The last letters reach all bits: ids often differ in these alone.
	sum := h.Sum64()
	sum ^= sum >> 33
	sum *= 0xff51afd7ed558ccd
	return sum ^ sum>>33
}

// Weights are how long units take, by playbook/case/variant: what a former run took, committed as a file. All shards
// need the same.
type Weights struct {
	// Version is 1.
	Version int `json:"version"`
	// Seconds are the medians of the trials.
	Seconds map[string]float64 `json:"seconds"`
}

// MaxWeights is how large a file of weights may be, in bytes.
const MaxWeights = 16 << 20

// ParseWeights reads a file of weights.
func ParseWeights(data []byte) (Weights, error) {
	var w Weights
	if err := jsonvalue.DecodeStrict(data, &w, jsonvalue.AllKeys); err != nil {
		return Weights{}, err
	}
	if w.Version != 1 {
		return Weights{}, fmt.Errorf("version %d; this program reads version 1", w.Version)
	}
	if len(w.Seconds) == 0 {
		return Weights{}, errors.New("seconds: it says nothing of any unit")
	}
	for id, s := range w.Seconds {
		if !(s >= 0) || s > 1e9 {
			return Weights{}, fmt.Errorf("seconds: %.80q takes %v: want seconds from 0", id, s)
		}
	}
	return w, nil
}
