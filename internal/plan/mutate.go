package plan

import "github.com/sdd-eval/sdd-eval/internal/doc"

// Mutate has the survivors of package mutate that the author knows and accepts.
type Mutate struct {
	Accept []AcceptMutant `yaml:"accept" min:"1" doc:"Survivors that are accepted, each with the reason."`
}

// AcceptMutant is a survivor that the author accepts. One that does not survive is an error, since what it says is no
// longer true.
type AcceptMutant struct {
	// Operator is the id of one of package mutate's.
	Operator string `yaml:"operator,required" doc:"The operator that makes it."`
	// Where is what the survivor has in brackets after its operator; * stands for any text.
	Where string `yaml:"where,required" doc:"What it has in brackets after its operator; * for any text."`
	Why   string `yaml:"why,required" doc:"Why it is right that it survives."`

	Position doc.Position `yaml:",position"`
}
