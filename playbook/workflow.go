package playbook

// Workflow is what a playbook does.
type Workflow struct {
	// Jobs stand in the order of the file. [Playbook.Plan] has the order in which they run.
	Jobs []Job `yaml:"jobs,required" max:"1000" doc:"Jobs by id."`
}

// Job is a list of steps. With a matrix its steps run for each unit of each variant that the matrix lists, one unit
// going through all its jobs; without one they run once.
type Job struct {
	ID string `yaml:",key" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$"`

	// Needs are the ids of jobs that must have passed before.
	Needs []string `yaml:"needs" doc:"Jobs that must have passed before."`

	// Strategy is nil for a job outside the matrix.
	Strategy *Strategy `yaml:"strategy" doc:"For which variants to run the steps; without it they run once."`

	Steps []Step `yaml:"steps,required" doc:"What to do, in order."`

	// Position is where the job's id stands.
	Position Position `yaml:",position"`
}

// Strategy spreads a job over variants.
type Strategy struct {
	Matrix Matrix `yaml:"matrix,required" doc:"What to spread the job over."`
}

// Matrix lists variants, in the order in which they run.
type Matrix struct {
	Variant []string `yaml:"variant,required" doc:"Ids of variants, in the order in which they run."`
}

// Variants returns the ids of the variants that the job runs for, nil for a job outside the matrix.
func (j Job) Variants() []string {
	if j.Strategy == nil {
		return nil
	}
	return j.Strategy.Matrix.Variant
}
