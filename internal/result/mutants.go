package result

// Mutants says whether the evals of a run would notice a bad agent: how many worse sessions they notice, see package
// mutate. Reports of the run show it.
type Mutants struct {
	Version int `json:"version"` // 1
	// Of says of which sessions the mutants were made.
	Of string `json:"of"`
	// Strict says that survivors which the playbook accepts count as not noticed.
	Strict bool `json:"strict"`
	// Sample is how many mutants of a unit were judged at most, chosen by Seed; 0: all.
	Sample int    `json:"sample,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Headline has the score and what is not known of it, for people.
	Headline string `json:"headline"`
	MutantCount
	Cases []MutantCase `json:"cases"`
}

// MutantCount counts mutants, and says what share of them was noticed.
type MutantCount struct {
	// Score is the share of killed mutants among those of which it is known whether they were noticed; nil: of none it
	// is known. Least and Most are what it would be if none or all of the unknown were noticed.
	Score      *float64 `json:"score"`
	Least      float64  `json:"least"`
	Most       float64  `json:"most"`
	Killed     int      `json:"killed"`
	Survived   int      `json:"survived"`
	Accepted   int      `json:"accepted"`
	Unknown    int      `json:"unknown"`
	Equivalent int      `json:"equivalent"`
}

// MutantCase says it of a case.
type MutantCase struct {
	Case string `json:"case"`
	MutantCount
	Survivors []Survivor `json:"survivors"`
}

// Survivor is a mutant that an eval did not notice.
type Survivor struct {
	// Name has the operator and the place, What says what the agent did.
	Name string `json:"name"`
	What string `json:"what"`
	// Position is the line to strengthen, and Advice what to write.
	Position string `json:"position"`
	Advice   string `json:"advice"`
}
